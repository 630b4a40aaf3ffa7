#include "experiment/sweep_2d.h"

#include <fmt/format.h>

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/evaluate/run.h"
#include "htfm/io/file.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

Json score_cell(const Cell& cell, const SweepModel& own) {
  const RunReference reference = make_run_reference(cell.config, cell.config.sample.n, false);
  const Model model = train(cell.config);
  Json j{{"cell", cell.name}, {"skipped_steps", model.skipped}, {"runs", Json::array()}};
  if (const auto* learned = cell.config.path.learn ? model.flow().learned() : nullptr)
    for (int64_t k = 0; k < learned->curves(); ++k) j["curves"].push_back(learned->text(k));
  for (const SweepRun& r : own.runs) {
    SampleOptions options = sample_options(cell.config);
    options.solver = r.solver, options.solve.nfe = r.nfe, options.time_grid = time_grid_by_name(r.time_grid);
    const SampleResult s = sample(model, options);
    const MetricReport m = compute_metrics({"f1_prd", "w1_sliced"}, reference.data.rows, s.samples);
    j["runs"].push_back({{"solver", r.solver},
                         {"time_grid", r.time_grid},
                         {"budget", r.nfe},
                         {"nfe", s.evaluations},
                         {"f1_prd", m["f1_prd"]},
                         {"w1_sliced", m["w1_sliced"]},
                         {"diverged", s.diverged}});
  }
  return j;
}

// Whether kept results are those of these runs.
bool has_runs(const Json& result, const std::vector<SweepRun>& runs) {
  if (result["runs"].size() != runs.size()) return false;
  for (size_t r = 0; r < runs.size(); ++r) {
    const Json& own = result["runs"][r];
    if (own["solver"] != runs[r].solver || own["budget"] != runs[r].nfe || own["time_grid"] != runs[r].time_grid)
      return false;
  }
  return true;
}

}  // namespace

Sweep run_sweep(std::vector<SweepModel> models, const ReproduceOptions& o) {
  Sweep out;
  std::vector<Cell> cells;
  std::vector<size_t> model_of;
  for (SweepModel& m : models) {
    if (!o.wants(m.file)) continue;
    for (int64_t k = 0; k < o.seeds; ++k) {
      std::vector<std::string> settings = m.settings;
      settings.push_back(fmt::format("seed={}", o.common.seed + k));
      cells.push_back({fmt::format("{}-seed{}", m.file, o.common.seed + k), config_2d(settings, o)});
      model_of.push_back(out.models.size());
    }
    out.models.push_back(std::move(m));
  }
  const auto model = [&](const Cell& cell) -> const SweepModel& {
    return out.models[model_of[static_cast<size_t>(&cell - cells.data())]];
  };
  const std::vector<Json> results =
      run_cells(cells, o.folder, [&](const Cell& cell) { return score_cell(cell, model(cell)); });
  size_t at = 0;
  for (const SweepModel& m : out.models) {
    std::vector<SweepScore>& own = out.scores.emplace_back();
    out.curves.push_back(results[at].value("curves", std::vector<std::string>()));
    for (size_t r = 0; r < m.runs.size(); ++r) {
      std::vector<double> f1, w1, nfe;
      double diverged = 0;
      for (size_t k = 0; k < static_cast<size_t>(o.seeds); ++k) {
        if (!has_runs(results[at + k], m.runs))
          throw InputError(
              "[reproduce] {}/cells/{}.json: expected scores of this experiment, got others; use another folder",
              o.folder, cells[at + k].name);
        const Json& run = results[at + k]["runs"][r];
        f1.push_back(run["f1_prd"]), w1.push_back(run["w1_sliced"]), nfe.push_back(run["nfe"]);
        diverged += run["diverged"].get<double>();
      }
      own.push_back({mean_spread(f1), mean_spread(w1), mean_spread(nfe), diverged});
    }
    at += static_cast<size_t>(o.seeds);
  }
  return out;
}

Json Sweep::rows() const {
  Json out = Json::array();
  for (size_t m = 0; m < models.size(); ++m)
    for (size_t r = 0; r < models[m].runs.size(); ++r) {
      const SweepRun& run = models[m].runs[r];
      const SweepScore& s = scores[m][r];
      out.push_back({{"model", models[m].name},
                     {"settings", models[m].settings},
                     {"solver", run.solver},
                     {"time_grid", run.time_grid},
                     {"budget", run.nfe},
                     {"nfe", s.nfe.mean},
                     {"f1_prd", s.f1_prd.mean},
                     {"f1_prd_sd", s.f1_prd.deviation},
                     {"w1_sliced", s.w1_sliced.mean},
                     {"w1_sliced_sd", s.w1_sliced.deviation},
                     {"diverged", s.diverged}});
      if (!curves[m].empty()) out.back()["curves_of_first_seed"] = curves[m];
    }
  return out;
}

report::Table Sweep::table() const {
  report::Table out;
  out.columns.push_back({"model"});
  std::string head = "| model |", rule = "|---|";
  const bool papers = std::any_of(models.begin(), models.end(), [](const SweepModel& m) { return m.paper > 0; });
  const auto column = [&](const std::string& title, report::Best best, int decimals) {
    out.columns.push_back({title, best, decimals});
    head += " " + title + " |", rule += "---|";
  };
  for (const SweepRun& r : models.empty() ? std::vector<SweepRun>() : models[0].runs)
    column(fmt::format("{}, {}, NFE {}", r.solver, r.time_grid, r.nfe), report::Best::highest, 3);
  if (papers) column("paper's FID, CIFAR10-LT", report::Best::none, 2);
  fmt::print(table_output(), "{}\n{}\n", head, rule);
  for (size_t m = 0; m < models.size(); ++m) {
    std::vector<report::Cell> cells{models[m].name};
    std::string line = "| " + models[m].name + " |";
    for (const SweepScore& s : scores[m]) {
      cells.push_back(report::Cell(s.f1_prd.mean).spread(s.f1_prd.deviation));
      line += fmt::format(" {} |", spread_text(s.f1_prd, 3));
    }
    if (papers) {
      cells.push_back(models[m].paper > 0 ? report::Cell(models[m].paper) : report::Cell());
      line += models[m].paper > 0 ? fmt::format(" {:.2f} |", models[m].paper) : " |";
    }
    fmt::print(table_output(), "{}\n", line);
    out.add(std::move(cells));
  }
  return out;
}

Json write_sweep(const SweepPage& what, const Sweep& sweep, const report::Figure& figure, const report::Table& table,
                 const ReproduceOptions& o) {
  Json out{{"experiment", what.name}, {"seeds", o.seeds}, {"set", o.settings}, {"rows", sweep.rows()}};
  report::Page page(what.title, what.summary);
  page.section("Scores").figure(figure, what.caption).table(table);
  write_experiment(o.folder, what.name, page, out, &figure);
  return out;
}

}  // namespace htfm::app
