#include "app/scored_run.h"

#include <fmt/format.h>

#include <utility>

#include "app/curve_figure.h"
#include "app/progress.h"
#include "htfm/base/error.h"
#include "htfm/report/figures.h"

namespace htfm::app {

std::string variant_name(const ClockSpec& clock, const std::string& method) {
  std::string name = method;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (clock.family == "deterministic") return name + "-G";
  if (clock.family == "stable") return fmt::format("{}-α {}", name, clock.parameters.at("alpha"));
  if (clock.family == "inverse-gamma") return fmt::format("{}-t {}", name, clock.parameters.at("nu"));
  if (clock.family == "fitted") return name + "-fitted";
  return clock.describe();
}

Reference make_reference(const RunConfig& config, int64_t n, bool yardstick) {
  Reference r;
  if (!config.data.path.empty()) {
    r.data = load_dataset(config);
    r.description = fmt::format("the rows of {}", config.data.path);
    return r;
  }
  r.data = held_out(config, n);
  r.description = fmt::format("{} fresh points of {}", n, r.data.origin.substr(0, r.data.origin.rfind(',')));
  if (yardstick) r.yardstick = compute_metrics({}, r.data.rows, held_out(config, n, 1).rows);
  return r;
}

ScoredRun score_run(Model model, const SampleOptions& options, const Reference& reference, const std::string& run_folder) {
  const std::string name = variant_name(model.clock(), model.config().method);
  SampleResult sampled = sample_with_status(model, options, name);
  MetricReport scores = compute_metrics({}, reference.data.rows, sampled.samples);
  return {name, std::move(model), options, std::move(sampled), std::move(scores), read_losses(run_folder)};
}

namespace {

using report::Best;
using report::Cell;

// Scores that stand in a table, with the direction in which they are good and how they are printed.
struct ScoreColumn {
  const char* name;
  const char* title;
  Best best;
  int decimals;
};
constexpr ScoreColumn kBulk[] = {{"f1_prd", "f1_prd", Best::highest, 3},
                                 {"f1_knn", "f1_knn", Best::highest, 4},
                                 {"w1_sliced", "w1_sliced", Best::lowest, 3},
                                 {"w1_pooled", "w1_pooled", Best::lowest, 3},
                                 {"mmd", "mmd", Best::lowest, 4}};
constexpr ScoreColumn kTail[] = {{"log_q_0.99", "log q 0.99", Best::none, 2},
                                 {"log_q_0.999", "log q 0.999", Best::none, 2},
                                 {"log_q_0.9999", "log q 0.9999", Best::none, 2},
                                 {"hill_fake", "Hill index", Best::none, 2}};

report::Table score_table(const std::vector<ScoredRun>& runs, const Reference& reference, std::span<const ScoreColumn> columns,
                          std::string caption) {
  report::Table table;
  table.caption = std::move(caption);
  table.columns.push_back({"model"});
  table.columns.push_back({"NFE", Best::none, 0});
  for (const ScoreColumn& c : columns) table.columns.push_back({c.title, c.best, c.decimals});
  const auto add_row = [&](std::vector<Cell> cells, const MetricReport& scores) -> report::Row& {
    for (const ScoreColumn& c : columns) cells.emplace_back(scores[c.name]);
    return table.add(std::move(cells));
  };
  for (const ScoredRun& r : runs) add_row({r.name, r.sampled.evaluations}, r.scores);
  if (reference.yardstick) add_row({"two fresh draws of the data", Cell()}, *reference.yardstick).reference = true;
  return table;
}

void add_scores(report::Page& page, const std::vector<ScoredRun>& runs, const Reference& reference) {
  page.section("Scores")
      .table(score_table(runs, reference, kBulk, fmt::format("The bulk: scores against {}.", reference.description)))
      .table(score_table(
          runs, reference, kTail,
          fmt::format(
              "The tails of the radius. log q p: logarithm of the model's p-quantile over the data's, 0 is right, -1 means 2.7 times "
              "too small. Hill index of the largest 0.5 %: the data has {:.2f} ± {:.2f}, and a larger one means a lighter tail.",
              runs.front().scores["hill_real"], runs.front().scores["hill_real_se"])));
}

void add_pictures(report::Page& page, const std::vector<ScoredRun>& runs, const Reference& reference) {
  std::vector<report::PointPanel> panels;
  if (reference.data.rows.size(1) >= 2) {
    panels.push_back({.title = "data", .points = reference.data.rows});
    for (const ScoredRun& r : runs)
      panels.push_back({.title = r.name, .points = r.sampled.samples, .note = fmt::format("f1_prd {:.3f}", r.scores["f1_prd"])});
    page.section("Samples").figure(report::scatter_panels(panels, {.label = "Data and samples of each model"}),
                                   fmt::format("Data and samples in one window, thinned. Solver: {}, {:.0f} network evaluations a sample.",
                                               runs.front().options.solver, runs.front().sampled.evaluations));
  }

  const std::vector<double>& centre = runs.front().scores.tails->center;
  std::vector<report::Sample> tails;
  tails.reserve(runs.size());
  for (const ScoredRun& r : runs) tails.push_back({.name = r.name, .values = report::radii(r.sampled.samples, centre)});
  report::TailOptions tail_options;
  for (const ScoredRun& r : runs)
    if (const double p = r.model.method().tail_exponent(); std::isfinite(p)) {
      tail_options.slopes = {p};
      break;
    }
  page.section("Tails").figure(
      report::radial_tail({.name = "data", .values = report::radii(reference.data.rows, centre)}, tails, tail_options),
      "How often a point lies at least r from the centre. A power law is a straight line; a model whose line "
      "drops below the data's makes extremes too rare or too small.");
  report::QuantileOptions quantile_options;
  quantile_options.x = {.label = "quantile of the data's radius", .scale = report::Scale::log};
  quantile_options.y = {.label = "quantile of the samples' radius", .scale = report::Scale::log};
  page.figure(report::quantile_plot({.name = "data", .values = report::radii(reference.data.rows, centre)}, tails, quantile_options),
              "Quantiles of the samples' radius against those of the data: on the diagonal is right.");
}

void add_clocks(report::Page& page, const std::vector<ScoredRun>& runs) {
  std::vector<report::ClockFamily> families;
  for (const ScoredRun& r : runs) {
    const Clock& clock = r.model.method().clock();
    const ClockSample drawn = clock.sample(Key(r.options.seed).child("sample").child("clock"), {.count = 24});
    families.push_back({.name = r.name, .paths = drawn.paths, .jumps = clock.natural_feature() == NaturalFeature::path});
  }
  page.section("Clocks").figure(
      report::clock_paths(families),
      "Clocks that were drawn: given its clock a sample starts from a Gaussian whose variance is twice the area under the "
      "path. Rare large clocks make the source heavy-tailed.");
  for (const ScoredRun& r : runs)
    if (!r.model.clock_explanation().empty()) page.text(fmt::format("{}: {}", r.name, r.model.clock_explanation()));
  page.text("What the network is told of a clock: " + [&] {
    std::string all;
    for (const ScoredRun& r : runs)
      all += fmt::format("{}{}: `{}`", all.empty() ? "" : "; ", r.name, r.model.method().feature().description());
    return all;
  }() + ".");
}

void add_curves(report::Page& page, const std::vector<ScoredRun>& runs) {
  bool first = true;
  for (const ScoredRun& r : runs) {
    if (!r.model.config().path.learn) continue;
    if (std::exchange(first, false)) page.section("Learned schedule");
    const LearnedSchedule& learned = *r.model.flow().learned();
    page.figure(
        curve_figure(learned, r.model.method().clock()),
        fmt::format("{}: how far the learned paths leave the straight line, for clocks at the 5 %, 50 % and 95 % quantiles of their "
                    "first coordinate (averaged curves).",
                    r.name));
    std::string text;
    for (int64_t k = 0; k < learned.curves(); ++k)
      text += fmt::format("path.{} = \"{}\"\n", learned.curves() == 1 ? "c" : k == 0 ? "a" : "b", learned.text(k));
    page.code(text, "The same as fixed curves.");
  }
}

void add_training(report::Page& page, const std::vector<ScoredRun>& runs) {
  std::vector<report::Series> series;
  for (const ScoredRun& r : runs) {
    if (!r.losses.step.empty()) series.push_back({.name = r.name, .x = r.losses.step, .y = r.losses.loss});
  }
  page.section("Training");
  if (!series.empty())
    page.figure(report::loss_curve(series),
                "The method's loss (HTFM: mean squared error of the preconditioned network) against the training step.");
  int64_t skipped = 0;
  for (const ScoredRun& r : runs) skipped += r.model.skipped;
  if (skipped > 0) page.warning(fmt::format("{} training steps were skipped because loss or gradient was not finite.", skipped));
}

}  // namespace

std::string report_page(const std::string& title, const std::string& lead, const std::vector<ScoredRun>& runs, const Reference& reference,
                        const std::string& command) {
  report::Page page(title, lead);
  int64_t diverged = 0;
  for (const ScoredRun& r : runs) diverged += r.sampled.diverged;
  const auto best = std::max_element(runs.begin(), runs.end(),
                                     [](const ScoredRun& a, const ScoredRun& b) { return a.scores["f1_prd"] < b.scores["f1_prd"]; });
  std::vector<report::Highlight> highlights{
      {"mode coverage", fmt::format("{:.3f}", best->scores["f1_prd"]),
       reference.yardstick ? fmt::format("f1_prd of {}; two fresh draws: {:.3f}", best->name, (*reference.yardstick)["f1_prd"])
                           : "f1_prd of " + best->name},
      {"evaluations a sample", fmt::format("{:.0f}", best->sampled.evaluations), best->options.solver},
      {"samples that diverged", fmt::format("{}", diverged),
       fmt::format("of {}", static_cast<int64_t>(runs.size()) * runs.front().options.n)}};
  page.highlights(highlights);
  add_pictures(page, runs, reference);
  add_scores(page, runs, reference);
  add_clocks(page, runs);
  add_curves(page, runs);
  add_training(page, runs);
  page.section("Configuration");
  const report::KeyValues first = config_entries(runs.front().model.config());
  for (const ScoredRun& r : runs) {
    report::KeyValues own = config_entries(r.model.config());
    if (&r != &runs.front())
      std::erase_if(own, [&](const auto& entry) { return std::find(first.begin(), first.end(), entry) != first.end(); });
    if (runs.size() > 1) page.heading(&r == &runs.front() ? r.name : r.name + ": what differs");
    page.configuration(own);
  }
  report::KeyValues provenance{
      {"command", command}, {"program", version_text()}, {"reference", reference.description}, {"reference hash", reference.data.hash}};
  for (const ScoredRun& r : runs)
    provenance.emplace_back(
        r.name, fmt::format("step {}, averaged weights {}, data {} ({}), {} samples with seed {}, NFE really spent {:.2f}", r.model.step,
                            r.model.weights_hash(), r.model.data_hash(), r.model.data_origin(), r.options.n, r.options.seed,
                            r.sampled.evaluations));
  page.provenance(provenance);
  return page.html();
}

}  // namespace htfm::app
