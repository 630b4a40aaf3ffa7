// The tails of the 2D mixture: couplings and clocks, far quantiles at several budgets.
#include <fmt/format.h>

#include "app/reproduce.h"
#include "app/scored_run.h"
#include "htfm/io/file.h"
#include "htfm/metric/sort.h"
#include "htfm/report/page.h"

namespace htfm::app {

namespace {

struct Variant {
  const char* name;
  std::vector<std::string> settings;
};

struct Budget {
  int64_t nfe;
  const char* solver;
  const char* grid = "angle";
  double power = 1;
};

std::vector<Variant> variants(double alpha) {
  const std::string nu = fmt::format("clock.nu={}", alpha), stable = fmt::format("clock.alpha={}", alpha);
  return {{"G, independent", {"clock.family=deterministic"}},
          {"t, independent", {"clock.family=inverse-gamma", nu}},
          {"t, pool", {"clock.family=inverse-gamma", nu, "coupling.kind=pool", "precondition.scale=clock"}},
          {"t, pareto", {"clock.family=inverse-gamma", nu, "coupling.kind=pool", "precondition.scale=clock", "data.tail=pareto"}},
          {"alpha, pareto", {"clock.family=stable", stable, "coupling.kind=pool", "precondition.scale=clock", "data.tail=pareto"}},
          {"alpha, pool", {"clock.family=stable", stable, "coupling.kind=pool", "precondition.scale=clock"}}};
}

const std::vector<Budget>& budgets() {
  static const std::vector<Budget> list{{100, "midpoint"}, {20, "fitted"}, {10, "fitted"}};
  return list;
}

constexpr int64_t kBulk = 24000;  // points of f1_prd

MetricOptions options_of() {
  MetricOptions o;
  o.tails.levels = {0.99, 0.999, 0.9999, 0.99999};
  return o;
}

Json score_cell(const Cell& cell) {
  const int64_t n = cell.config.sample.n;
  const Dataset reference = held_out(cell.config, 2 * n);
  const Model model = train(cell.config);
  say(cell.name + ": " + model.flow().size_tail().explanation);
  Json j{{"cell", cell.name}, {"skipped_steps", model.skipped}, {"runs", Json::array()}};
  for (const Budget& b : budgets()) {
    SampleOptions options = sample_options(cell.config);
    options.solver = b.solver, options.solve.nfe = b.nfe;
    options.time_grid = time_grid_by_name(b.grid), options.solve.time_power = b.power;
    const SampleResult s = sample(model, options);
    const MetricReport tail = compute_metrics({"tails"}, reference.rows, s.samples, options_of());
    const int64_t bulk = std::min(kBulk, n);
    Json run{{"solver", b.solver}, {"nfe", s.evaluations}, {"diverged", s.diverged}, {"seconds", s.seconds}};
    run["f1_prd"] = f1_prd(reference.rows.narrow(0, 0, bulk), s.samples.narrow(0, 0, bulk)).f1;
    for (const MetricValue& v : tail.values) run[v.name] = v.value;
    j["runs"].push_back(run);
    say(fmt::format("{:<40} {:>8} {} {} nfe {:>4} q {:+.3f} {:+.3f} {:+.3f} hill {:.2f} ({:.2f}) f1 {:.4f}  {:.0f} s", cell.name, b.solver,
                    b.grid, b.power, b.nfe, tail["log_q_0.99"], tail["log_q_0.999"], tail["log_q_0.9999"], tail["hill_fake"],
                    tail["hill_real"], run["f1_prd"].get<double>(), s.seconds));
  }
  return j;
}

}  // namespace

Json reproduce_tails(const ReproduceOptions& o) {
  std::vector<Cell> cells;
  for (const double alpha : {1.5, 1.8})
    for (const Variant& v : variants(alpha))
      for (int64_t k = 0; k < o.seeds; ++k) {
        std::vector<std::string> settings = v.settings;
        settings.push_back(fmt::format("data.alpha={}", alpha));
        settings.push_back(fmt::format("seed={}", o.common.seed + k));
        std::string name = fmt::format("{}-alphaD{}-seed{}", v.name, alpha, o.common.seed + k);
        std::replace(name.begin(), name.end(), ' ', '_');
        if (name.find(o.only) != std::string::npos) cells.push_back({name, config_2d(settings, o)});
      }
  const std::vector<Json> results = run_cells(cells, o.folder, score_cell);
  return {{"experiment", "tails"}, {"cells", results}};
}

}  // namespace htfm::app
