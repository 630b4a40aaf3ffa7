// The radius of heavy-tailed data in 8, 32 and 128 dimensions.
#include <fmt/format.h>

#include "experiment/reproduce.h"
#include "htfm/evaluate/run.h"
#include "htfm/io/file.h"
#include "htfm/report/page.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

struct DimensionVariant {
  const char* name;
  std::vector<std::string> settings;
};

const std::vector<DimensionVariant>& dimension_variants() {
  static const std::vector<DimensionVariant> list{{"G", {"clock.family=deterministic"}},
                                                  {"t",
                                                   {"clock.family=inverse-gamma", "clock.nu=3", "coupling.kind=pool",
                                                    "precondition.scale=clock", "data.tail=pareto"}}};
  return list;
}

MetricReport score(const at::Tensor& real, const at::Tensor& fake) { return compute_metrics({"tails"}, real, fake); }

Json score_dimension(const Cell& cell) {
  const int64_t n = cell.config.sample.n;
  const Dataset reference = held_out(cell.config, 2 * n);
  const Model model = train(cell.config);
  const SampleResult s = sample(model, sample_options(cell.config));
  Json j{{"cell", cell.name}, {"nfe", s.evaluations}, {"diverged", s.diverged}, {"skipped_steps", model.skipped}};
  for (const MetricValue& v : score(reference.rows, s.samples).values) j[v.name] = v.value;
  const MetricReport own = score(reference.rows, load_dataset(cell.config).rows);
  for (const char* name : {"log_q_0.99", "log_q_0.999", "log_q_0.9999"})
    j[fmt::format("training_{}", name)] = own[name];
  return j;
}

}  // namespace

Json reproduce_dimensions(const ReproduceOptions& o) {
  std::vector<Cell> cells;
  for (const char* set : {"student", "clusters"})
    for (const int64_t dim : {8, 32, 128})
      for (const DimensionVariant& v : dimension_variants())
        for (int64_t k = 0; k < o.seeds; ++k) {
          std::vector<std::string> settings = v.settings;
          settings.insert(settings.end(),
                          {fmt::format("data.name={}", set), fmt::format("data.dim={}", dim), "data.nu=3",
                           "data.whiten=true", fmt::format("net.width={}", dim < 32 ? 64 : 128), "train.lr=2e-3",
                           "train.lr_decay=0.3", "train.lr_decay_steps=600", "train.epochs=60", "sample.solver=fitted",
                           "sample.nfe=20", "sample.n=200000", fmt::format("seed={}", o.common.seed + k)});
          const std::string name = fmt::format("{}-{}-{}-seed{}", set, dim, v.name, o.common.seed + k);
          if (o.wants(name)) cells.push_back({name, config_2d(settings, o)});
        }
  const std::vector<Json> results = run_cells(cells, o.folder, score_dimension);
  Json out{{"experiment", "dimensions"}, {"seeds", o.seeds}, {"cells", results}};
  fmt::print(stderr, "{:<26} {:>24} {:>24}\n", "mean |log q| at", "0.99  0.999  0.9999", "of the training set");
  for (size_t at = 0; at + static_cast<size_t>(o.seeds) <= results.size(); at += static_cast<size_t>(o.seeds)) {
    double ours[3] = {}, own[3] = {};
    constexpr const char* names[] = {"log_q_0.99", "log_q_0.999", "log_q_0.9999"};
    for (size_t k = at; k < at + static_cast<size_t>(o.seeds); ++k)
      for (int q = 0; q < 3; ++q) {
        ours[q] += std::abs(results[k][names[q]].get<double>()) / static_cast<double>(o.seeds);
        own[q] +=
            std::abs(results[k][fmt::format("training_{}", names[q])].get<double>()) / static_cast<double>(o.seeds);
      }
    const std::string& name = cells[at].name;
    fmt::print(stderr, "{:<26} {:>8.3f}{:>8.3f}{:>8.3f} {:>8.3f}{:>8.3f}{:>8.3f}\n", name.substr(0, name.find("-seed")),
               ours[0], ours[1], ours[2], own[0], own[1], own[2]);
  }
  atomic_write(o.folder + "/dimensions.json", out.dump(1) + "\n");
  return out;
}

}  // namespace htfm::app
