// The figure of five 2D targets under clocks of three decay exponents.
#include <fmt/format.h>

#include "experiment/reproduce.h"
#include "htfm/evaluate/run.h"
#include "htfm/io/file.h"
#include "htfm/io/npy.h"
#include "htfm/report/figures.h"
#include "htfm/report/page.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

Json reproduce_toys(const ReproduceOptions& o) {
  const std::vector<std::string> targets{"checkerboard", "two_moons", "swiss_roll", "rings", "olympic_rings"};
  struct Clock {
    const char* title;
    const char* file;
    std::vector<std::string> settings;
  };
  std::vector<Clock> clocks{{"p = ∞", "gaussian", {"clock.family=deterministic"}},
                            {"α = 1.8", "alpha1.8", {"clock.family=stable", "clock.alpha=1.8"}},
                            {"α = 1.5", "alpha1.5", {"clock.family=stable", "clock.alpha=1.5"}}};
  std::erase_if(clocks, [&](const Clock& clock) { return !o.wants(clock.file); });
  std::vector<Cell> cells;
  for (const Clock& clock : clocks)
    for (const std::string& target : targets) {
      std::vector<std::string> settings = clock.settings;
      settings.insert(settings.end(), {"data.name=" + target, "sample.solver=euler", "sample.nfe=100",
                                       fmt::format("seed={}", o.common.seed)});
      cells.push_back({fmt::format("{}-{}", target, clock.file), config_2d(settings, o)});
    }
  make_folder(o.folder + "/samples");
  const auto file = [&](const std::string& name) { return fmt::format("{}/samples/{}.npy", o.folder, name); };
  const std::vector<Json> results = run_cells(cells, o.folder, [&](const Cell& cell) {
    const Model model = train(cell.config);
    const SampleResult s = sample(model, sample_options(cell.config));
    write_npy(file(cell.name), s.samples);
    const RunReference reference = make_run_reference(cell.config, cell.config.sample.n, false);
    Json j{{"cell", cell.name}, {"nfe", s.evaluations}, {"diverged", s.diverged}};
    for (const MetricValue& v :
         compute_metrics({"f1_knn", "f1_prd", "w1_sliced"}, reference.data.rows, s.samples).values)
      j[v.name] = v.value;
    return j;
  });

  std::vector<std::string> rows{"data"};
  std::vector<std::vector<at::Tensor>> panels(1);
  for (size_t t = 0; t < targets.size(); ++t) panels[0].push_back(held_out(cells[t].config, 4000).rows);
  report::Table table;
  table.caption = "f1_prd and sliced W1 against fresh points of the same law, Euler, NFE 100.";
  table.columns.push_back({"clock"});
  for (const std::string& t : targets)
    table.columns.push_back({t + " f1_prd", report::Best::highest, 3}),
        table.columns.push_back({"w1", report::Best::lowest, 3});
  for (size_t c = 0; c < clocks.size(); ++c) {
    rows.emplace_back(clocks[c].title);
    panels.emplace_back();
    std::vector<report::Cell> line{clocks[c].title};
    for (size_t t = 0; t < targets.size(); ++t) {
      const Json& r = results[c * targets.size() + t];
      panels.back().push_back(read_npy(file(cells[c * targets.size() + t].name)));
      line.emplace_back(r["f1_prd"].get<double>());
      line.emplace_back(r["w1_sliced"].get<double>());
      fmt::print(stderr, "{:<14} {:<10} f1_prd {:.4f}  w1_sliced {:.4f}\n", targets[t], clocks[c].file,
                 r["f1_prd"].get<double>(), r["w1_sliced"].get<double>());
    }
    table.add(std::move(line));
  }
  const report::Figure figure =
      report::scatter_grid(rows, targets, panels, {.label = "Five targets under three clocks"});
  report::Page page("Five 2D targets under three clocks",
                    "Same network, training and evaluations in every cell; only the clock changes.");
  page.section("Samples").figure(figure, "Top row: data. Below: samples under the Gaussian clock and two stable ones.");
  page.section("Scores").table(table);
  Json out{{"experiment", "toys"}, {"cells", results}};
  write_experiment(o.folder, "toys", page, out, &figure);
  return out;
}

}  // namespace htfm::app
