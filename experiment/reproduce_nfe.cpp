// Scores against the network evaluations of a sample, on the 2D mixture: clocks, solvers and methods.
#include <fmt/format.h>

#include "experiment/image_experiment.h"
#include "experiment/sweep_2d.h"

namespace htfm::app {

namespace {

constexpr int64_t kBudgets[] = {1, 2, 5, 10, 20, 50, 100};

std::vector<SweepRun> budgets(const std::vector<std::string>& solvers, const std::string& time_grid = "clock") {
  std::vector<SweepRun> out;
  for (const std::string& solver : solvers)
    for (const int64_t nfe : kBudgets) {
      const bool fits = solver == "midpoint" ? nfe % 2 == 0 : solver != "ab2" || nfe > 1;  // its steps
      if (fits) out.push_back({solver, nfe, solver == "fitted" ? "angle" : time_grid});
    }
  return out;
}

// As published DLIM draws from the network of DLPM, and the flow is solved by Euler on the uniform grid; what the paper
// does not have is left out.
std::vector<SweepModel> models(bool as_published) {
  const std::vector<std::string> stable{"clock.family=stable", "clock.alpha=1.7"};
  const auto with = [&](const std::string& setting) {
    std::vector<std::string> s = stable;
    s.push_back(setting);
    return s;
  };
  if (as_published) {
    const std::vector<SweepRun> euler = budgets({"euler"}, "uniform");
    return {{"HTFM-G", "G", {"clock.family=deterministic"}, euler},
            {"HTFM-t 3.0", "t3.0", {"clock.family=inverse-gamma", "clock.nu=3"}, euler},
            {"HTFM-α 1.7", "alpha1.7", stable, euler},
            {"DLPM's network", "dlpm", with("method=dlpm"), budgets({"dlpm", "dlim"}, "uniform")}};
  }
  return {{"HTFM-G", "G", {"clock.family=deterministic"}, budgets({"euler"})},
          {"HTFM-t 3.0", "t3.0", {"clock.family=inverse-gamma", "clock.nu=3"}, budgets({"euler"})},
          {"HTFM-α 1.7", "alpha1.7", stable, budgets({"euler", "midpoint", "ab2", "fitted"})},
          {"clock diffusion", "clock-diffusion", with("method=clock-diffusion"), budgets({"mixed-flow"})},
          {"DLPM", "dlpm", with("method=dlpm"), budgets({"dlpm"})},
          {"DLIM", "dlim", with("method=dlim"), budgets({"dlim"})}};
}

}  // namespace

Json reproduce_nfe(const ReproduceOptions& o) {
  if (!o.data.empty()) return run_image_experiment(o, image_nfe(o.published));
  const Sweep sweep = run_sweep(models(o.published), o);
  report::Table table;
  table.caption =
      fmt::format("f1_prd and sliced W1 at the evaluations really spent, mean ± deviation over {} seeds.", o.seeds);
  table.columns = {{"model"},
                   {"solver"},
                   {"NFE", report::Best::none, 0},
                   {"f1_prd", report::Best::none, 3},
                   {"w1_sliced", report::Best::none, 3},
                   {"diverged", report::Best::none, 0}};
  std::vector<report::Series> series;
  std::string head = "| model, solver |", rule = "|---|";
  for (const int64_t nfe : kBudgets) head += fmt::format(" {} |", nfe), rule += "---|";
  fmt::print(table_output(), "{}\n{}\n", head, rule);
  for (size_t m = 0; m < sweep.models.size(); ++m) {
    const std::vector<SweepRun>& runs = sweep.models[m].runs;
    size_t column = 0;
    for (size_t r = 0; r < runs.size(); ++r) {
      const SweepScore& s = sweep.scores[m][r];
      const bool first = r == 0 || runs[r].solver != runs[r - 1].solver;
      if (first) {
        series.push_back({.name = fmt::format("{}, {}", sweep.models[m].name, runs[r].solver)});
        fmt::print(table_output(), "| {} |", series.back().name);
        column = 0;
      }
      for (; kBudgets[column] != runs[r].nfe; ++column) fmt::print(table_output(), " |");
      fmt::print(table_output(), " {:.3f} |", s.f1_prd.mean);
      if (++column == std::size(kBudgets)) fmt::print(table_output(), "\n");
      series.back().x.push_back(s.nfe.mean), series.back().y.push_back(1 - s.f1_prd.mean);
      table
          .add({sweep.models[m].name, runs[r].solver, s.nfe.mean,
                report::Cell(s.f1_prd.mean).spread(s.f1_prd.deviation),
                report::Cell(s.w1_sliced.mean).spread(s.w1_sliced.deviation), s.diverged})
          .rule_above = first;
    }
  }
  report::ChartOptions chart;
  chart.label = "1 - f1_prd against network evaluations";
  chart.x = {.label = "network evaluations really spent", .scale = report::Scale::log};
  chart.y = {.label = "1 − f1_prd (lower is better)", .scale = report::Scale::log};
  chart.width = 640, chart.height = 420;
  return write_sweep({"nfe", "Network evaluations", "Quality against cost on the 2D mixture.",
                      "1 − f1_prd against the evaluations of a sample."},
                     sweep, report::line_chart(series, chart), table, o);
}

}  // namespace htfm::app
