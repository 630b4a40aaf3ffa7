// Figure 1 of the paper from a trained model: a small and a large clock, the Gaussian source that each gives, what the
// flow makes of it, and the mixture over all clocks.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "app/progress.h"
#include "experiment/reproduce.h"
#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/clock/clock.h"
#include "htfm/report/figures.h"
#include "htfm/report/page.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

constexpr int64_t kOverviewPoints = 4000, kOverviewClocks = 2000;
constexpr double kSmallLevel = 0.1, kLargeLevel = 0.98;  // of the areas of the drawn clocks

struct OverviewColumn {
  std::string title;
  at::Tensor source, samples;
};

// The clock at this level of the areas among those drawn.
int64_t clock_at_level(const ClockSample& drawn, double level) {
  const int64_t n = drawn.area.size(0);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  const double* area = drawn.area.const_data_ptr<double>();
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return area[a] < area[b]; });
  return order[static_cast<size_t>(level * static_cast<double>(n - 1))];
}

// Source and samples of clocks that are given.
OverviewColumn column_of(const Model& model, SampleOptions options, std::string title, const ClockSample& clocks) {
  SourceDraws draws;
  draws.clocks = clocks;
  const int64_t n = clocks.area.size(0), dim = model.dim();
  draws.z = at::empty({n, dim}, at::kDouble);
  fill_normal(Key(options.seed).child("overview"), 0, n * dim, draws.z.mutable_data_ptr<double>());
  OverviewColumn out{std::move(title), draws.z * (clocks.area * 2).sqrt().unsqueeze(1), {}};
  options.n = n, options.given = std::make_shared<const SourceDraws>(std::move(draws));
  out.samples = sample(model, options).samples;
  return out;
}

ClockSample repeated(const ClockSample& drawn, int64_t row, int64_t n) {
  const auto copies = [&](const at::Tensor& x) {
    return x.defined() ? x.narrow(0, row, 1).repeat_interleave(n, 0).contiguous() : at::Tensor();
  };
  return {copies(drawn.area), copies(drawn.end), copies(drawn.paths)};
}

}  // namespace

Json reproduce_overview(const ReproduceOptions& o) {
  if (!o.only.empty())
    throw InputError("[--only] expected nothing: overview is one picture and has no cells, got '{}'", o.only);
  const RunConfig config = config_2d({"clock.family=stable", "clock.alpha=1.7", "data.alpha=1.5", "sample.nfe=100",
                                      fmt::format("seed={}", o.common.seed)},
                                     o);
  const Model model = train_with_status(config, {});
  const std::unique_ptr<Clock> clock = make_clock(model.clock());
  const Key key = Key(o.common.seed).child("clocks");
  const ClockSample drawn = clock->sample(key, {.count = kOverviewClocks});
  const int64_t small = clock_at_level(drawn, kSmallLevel), large = clock_at_level(drawn, kLargeLevel);
  const SampleOptions options = sample_options(config);
  const auto titled = [&](const char* what, int64_t row) {
    return fmt::format("{} clock, 2A = {:.2g}", what, 2 * drawn.area[row].item<double>());
  };
  const std::vector<OverviewColumn> columns{
      column_of(model, options, titled("small", small), repeated(drawn, small, kOverviewPoints)),
      column_of(model, options, titled("large", large), repeated(drawn, large, kOverviewPoints)),
      column_of(model, options, "all clocks", clock->sample(key.child("all"), {.count = kOverviewPoints}))};

  std::vector<std::string> titles;
  std::vector<std::vector<at::Tensor>> panels(2);
  Json sizes = Json::array();
  for (const OverviewColumn& c : columns) {
    titles.push_back(c.title), panels[0].push_back(c.source), panels[1].push_back(c.samples);
    sizes.push_back({{"clock", c.title}, {"source_deviation", c.source.std().item<double>()}});
  }
  const std::array<report::Range, 2> window{report::Range{-8, 8}, report::Range{-8, 8}};
  const report::Figure grid =
      report::scatter_grid({"source", "samples"}, titles, panels,
                           {.label = "Sources given a small clock, a large clock and over all clocks, and samples",
                            .windows = {window, window, window}});
  const report::Figure paths = report::clock_paths({{.name = "stable, alpha 1.7", .paths = drawn.paths}});
  report::Page page("A random clock, its source and its flow",
                    "Figure 1 of the paper from a model trained on the 2D mixture (alpha_D = 1.5, alpha 1.7).");
  page.section("Clocks").figure(paths, "Drawn clocks. Given one of them the source is Gaussian, with variance 2A.");
  page.section("Sources and samples")
      .figure(grid,
              "Above: the source given the clock, and over all clocks, where it is stable. Below: what the flow makes "
              "of it. The window is the same everywhere; far points lie outside.");
  Json out{{"experiment", "overview"}, {"columns", sizes}};
  write_experiment(o.folder, "overview", page, out, &grid);
  return out;
}

}  // namespace htfm::app
