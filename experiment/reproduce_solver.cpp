// The solver ablation, on the 2D mixture: one trained model, solvers at matched budgets.
#include <fmt/format.h>

#include "experiment/image_experiment.h"
#include "experiment/reproduce.h"
#include "htfm/base/error.h"
#include "htfm/evaluate/run.h"
#include "htfm/io/file.h"
#include "htfm/report/figures.h"
#include "htfm/report/page.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

struct Row {
  const char* title;
  const char* solver;
  double eta_from;
  double paper[3];  // FID of the paper on CIFAR10-LT at NFE 20, 50, 100; another data set and score, for the order only
};
constexpr Row kSolverRows[] = {{"Euler", "euler", 0, {20.80, 17.92, 16.31}},
                               {"Heun", "heun", 0, {18.55, 17.44, 15.87}},
                               {"midpoint", "midpoint", 0, {17.82, 16.51, 15.81}},
                               {"AB2, two charged a step (paper)", "ab2-paper", 0, {18.02, 16.47, 15.82}},
                               {"AB2, evaluations really spent", "ab2", 0, {0, 0, 0}},
                               {"stochastic", "stochastic", 0, {0, 0, 0}},
                               {"stochastic from 0.8 on", "stochastic", 0.8, {0, 0, 0}}};
// Drawing noise anew needs the preconditioning, and is not in the paper.
std::vector<Row> solver_rows(bool as_published) {
  std::vector<Row> out(std::begin(kSolverRows), std::end(kSolverRows));
  if (as_published) std::erase_if(out, [](const Row& r) { return std::string_view(r.solver) == "stochastic"; });
  return out;
}

constexpr const char* kTail = "log_q_0.999_columns";
constexpr int64_t kSolverBudgets[3] = {20, 50, 100};

}  // namespace

Json reproduce_solver(const ReproduceOptions& o) {
  if (!o.data.empty()) return run_image_experiment(o, image_solver(o.published));
  if (!o.only.empty())
    throw InputError("[--only] expected none for solver on the 2D mixture, which has one model; got '{}'", o.only);
  const std::vector<Row> solvers = solver_rows(o.published);
  std::vector<Cell> cells;
  for (int64_t k = 0; k < o.seeds; ++k)
    cells.push_back(
        {fmt::format("alpha1.7-seed{}", o.common.seed + k),
         config_2d({"clock.family=stable", "clock.alpha=1.7", fmt::format("seed={}", o.common.seed + k)}, o)});
  const std::vector<Json> results = run_cells(cells, o.folder, [&solvers](const Cell& cell) {
    const Model model = train(cell.config);
    const RunReference reference = make_run_reference(cell.config, cell.config.sample.n, false);
    Json rows = Json::array();
    const auto score = [&](const char* solver, int64_t nfe, double eta_from) {
      SampleOptions s = sample_options(cell.config);
      s.solver = solver;
      s.solve.nfe = nfe;
      s.solve.eta_from = eta_from;
      const SampleResult r = sample(model, s);
      const MetricReport m = compute_metrics({"f1_prd", "w1_sliced", "tail_quantiles"}, reference.data.rows, r.samples);
      rows.push_back({{"solver", solver},
                      {"budget", nfe},
                      {"nfe", r.evaluations},
                      {"f1_prd", m["f1_prd"]},
                      {"w1_sliced", m["w1_sliced"]},
                      {"tail", m[kTail]},
                      {"diverged", r.diverged}});
    };
    for (const Row& row : solvers)
      for (const int64_t budget : kSolverBudgets) score(row.solver, budget, row.eta_from);
    score("dopri5", 5000, 0);
    return Json{{"cell", cell.name}, {"rows", rows}};
  });

  const auto collect = [&](size_t row, const char* what) {
    std::vector<double> v(results.size());
    std::transform(results.begin(), results.end(), v.begin(),
                   [&](const Json& r) { return r["rows"][row][what].get<double>(); });
    return mean_spread(v);
  };
  Json out{{"experiment", "solver"}, {"seeds", o.seeds}, {"rows", Json::array()}};
  report::Table table;
  table.caption = fmt::format(
      "f1_prd (higher is better), sliced W1 and the error of the columns' 0.999 quantiles (in logarithms) of HTFM-α "
      "1.7 on the 2D mixture, "
      "mean over {} seeds, at the evaluations really spent.",
      o.seeds);
  table.columns = {{"solver"},
                   {"budget", report::Best::none, 0},
                   {"NFE spent", report::Best::none, 1},
                   {"f1_prd", report::Best::none, 4},
                   {"w1_sliced", report::Best::none, 4},
                   {"0.999", report::Best::none, 3},
                   {"paper's FID, CIFAR10-LT", report::Best::none, 2}};
  std::vector<report::Series> series;
  size_t at = 0;
  fmt::print(stderr, "{:<34} {:>6} {:>7} {:>8} {:>10} {:>7} {:>12}\n", "solver", "budget", "NFE", "f1_prd", "w1_sliced",
             "0.999", "paper's FID");
  const auto add = [&](const char* title, int64_t budget, double paper, bool rule) {
    const Spread nfe = collect(at, "nfe"), f1 = collect(at, "f1_prd"), w1 = collect(at, "w1_sliced"),
                 tail = collect(at, "tail");
    ++at;
    fmt::print(stderr, "{:<34} {:>6} {:>7.1f} {:>8.4f} {:>10.4f} {:>7.3f} {:>12}\n", title, budget, nfe.mean, f1.mean,
               w1.mean, tail.mean, paper > 0 ? fmt::format("{:.2f}", paper) : "");
    table
        .add({title, budget, nfe.mean, report::Cell(f1.mean).spread(f1.deviation),
              report::Cell(w1.mean).spread(w1.deviation), report::Cell(tail.mean).spread(tail.deviation),
              paper > 0 ? report::Cell(paper) : report::Cell()})
        .rule_above = rule;
    out["rows"].push_back({{"solver", title},
                           {"budget", budget},
                           {"nfe", nfe.mean},
                           {"f1_prd", f1.mean},
                           {"w1_sliced", w1.mean},
                           {"tail", tail.mean}});
    if (budget <= 100) {
      if (rule) series.push_back({.name = title});
      series.back().x.push_back(nfe.mean);
      series.back().y.push_back(f1.mean);
    }
  };
  for (const Row& row : solvers)
    for (int b = 0; b < 3; ++b) add(row.title, kSolverBudgets[b], row.paper[b], b == 0);
  add("Dormand-Prince 5(4), rtol 1e-5", 5000, 0, true);
  report::Page page("Solvers at matched budgets",
                    "HTFM-α 1.7 on the 2D mixture. The paper's solver table is on images; its values stand beside ours "
                    "for the order of "
                    "the solvers only.");
  report::ChartOptions chart;
  chart.x = {.label = "network evaluations really spent", .scale = report::Scale::log};
  chart.y = {.label = "f1_prd"};
  page.section("Scores")
      .figure(report::line_chart(series, chart), "f1_prd against the evaluations really spent.")
      .table(table);
  write_experiment(o.folder, "solver", page, out);
  return out;
}

}  // namespace htfm::app
