// The paper's panels of the 2D mixture: flow matching beside the baselines, same data, network and training.
#include <fmt/format.h>

#include "experiment/reproduce.h"
#include "htfm/evaluate/run.h"
#include "htfm/io/file.h"
#include "htfm/io/npy.h"
#include "htfm/report/figures.h"
#include "htfm/report/page.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

struct PanelVariant {
  const char *name, *file;
  std::vector<std::string> settings;
};

// Stable noise has the middle index of the paper's three; t-Flow needs a variance. As published HTFM and t-Flow are
// solved by Euler, and DLIM draws from the network of DLPM.
std::vector<PanelVariant> panel_variants(bool as_published) {
  const auto stable = [](const char* method) {
    return std::vector<std::string>{fmt::format("method={}", method), "clock.family=stable", "clock.alpha=1.7"};
  };
  std::vector<PanelVariant> list{
      {"HTFM", "htfm", {"clock.family=stable", "clock.alpha=1.7", "sample.solver=fitted", "sample.time_grid=angle"}},
      {"DLPM", "dlpm", stable("dlpm")},
      {"DLIM", "dlim", stable("dlim")},
      {"LIM", "lim", stable("lim")},
      {"t-Flow", "tflow", {"method=tflow", "clock.family=inverse-gamma", "clock.nu=3"}}};
  if (as_published) {
    list[0].settings = {"clock.family=stable", "clock.alpha=1.7"};
    list[2].settings = stable("dlpm"), list[2].settings.emplace_back("baseline.sampler=dlim");
    list[4].settings.emplace_back("baseline.sampler=euler");
  }
  return list;
}

constexpr double kPanelAlpha[2] = {1.5, 1.8};
constexpr int64_t kPanelBudgets[2] = {20, 100};
constexpr const char* kScores[] = {"f1_prd",      "w1_pooled",    "w1_sliced", "log_q_0.99",
                                   "log_q_0.999", "log_q_0.9999", "hill_fake", "hill_real"};

}  // namespace

Json reproduce_panels(const ReproduceOptions& o) {
  make_folder(o.folder + "/samples");
  const auto file = [&](const std::string& cell, int64_t nfe) {
    return fmt::format("{}/samples/{}-nfe{}.npy", o.folder, cell, nfe);
  };
  struct Group {
    PanelVariant variant;
    double alpha;
    size_t first;  // of its cells, one a seed
  };
  const std::vector<PanelVariant> variants = panel_variants(o.published);
  std::vector<Cell> cells;
  std::vector<Group> groups;
  for (const double alpha : kPanelAlpha)
    for (const PanelVariant& v : variants) {
      const std::string name = fmt::format("{}-alphaD{}", v.file, alpha);
      if (!o.wants(name)) continue;
      groups.push_back({v, alpha, cells.size()});
      for (int64_t k = 0; k < o.seeds; ++k) {
        std::vector<std::string> settings = v.settings;
        settings.push_back(fmt::format("data.alpha={}", alpha));
        settings.push_back(fmt::format("seed={}", o.common.seed + k));
        cells.push_back({fmt::format("{}-seed{}", name, o.common.seed + k), config_2d(settings, o)});
      }
    }
  const std::vector<Json> results = run_cells(cells, o.folder, [&](const Cell& cell) {
    const RunReference reference = make_run_reference(cell.config, cell.config.sample.n, false);
    const Model model = train(cell.config);
    SampleOptions options = sample_options(cell.config);
    Json j{{"cell", cell.name},
           {"skipped_steps", model.skipped},
           {"method", model.method().describe()},
           {"runs", Json::array()}};
    for (const int64_t nfe : kPanelBudgets) {
      options.solve.nfe = nfe;
      const SampleResult s = sample(model, options);
      write_npy(file(cell.name, nfe), s.samples);
      Json run{{"nfe", s.evaluations}, {"sampler", options.solver}, {"diverged", s.diverged}, {"seconds", s.seconds}};
      for (const MetricValue& v :
           compute_metrics({"f1_prd", "w1_pooled", "w1_sliced", "tails"}, reference.data.rows, s.samples).values)
        run[v.name] = v.value;
      say(fmt::format("{:<24} NFE {:>3}: f1_prd {:.4f}, w1_pooled {:.3f}, diverged {}", cell.name, nfe,
                      run["f1_prd"].get<double>(), run["w1_pooled"].get<double>(), s.diverged));
      j["runs"].push_back(run);
    }
    return j;
  });

  Json out{{"experiment", "panels"}, {"seeds", o.seeds}, {"rows", Json::array()}};
  report::Table table;
  table.caption = fmt::format(
      "Mean over {} seeds. log q p: mean absolute logarithm of the model's p-quantile of the radius over the data's. "
      "Hill index of the "
      "largest 0.5 %. Diverged: samples that are not finite, of all seeds.",
      o.seeds);
  table.columns = {{"α_D"},
                   {"method"},
                   {"NFE", report::Best::none, 0},
                   {"f1_prd", report::Best::none, 3},
                   {"w1_pooled", report::Best::none, 3},
                   {"w1_sliced", report::Best::none, 3},
                   {"|log q| 0.99", report::Best::none, 2},
                   {"0.999", report::Best::none, 2},
                   {"0.9999", report::Best::none, 2},
                   {"Hill", report::Best::none, 2},
                   {"Hill of the data", report::Best::none, 2},
                   {"diverged", report::Best::none, 0}};
  fmt::print(table_output(),
             "| alpha_D | method | NFE | f1_prd | w1_pooled | w1_sliced | log q 0.99 | 0.999 | 0.9999 | Hill (data) | "
             "diverged |\n"
             "|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Group& g : groups)
    for (size_t b = 0; b < std::size(kPanelBudgets); ++b) {
      std::map<std::string, std::vector<double>> values;
      double diverged = 0;
      for (size_t k = g.first; k < g.first + static_cast<size_t>(o.seeds); ++k) {
        const Json& run = results[k]["runs"][b];
        diverged += run["diverged"].get<double>();
        for (const char* s : kScores) {
          const double v = run[s].is_number() ? run[s].get<double>() : std::nan("");
          values[s].push_back(std::string_view(s).starts_with("log_q") ? std::abs(v) : v);
        }
      }
      Json row{{"alpha_D", g.alpha}, {"method", g.variant.name}, {"nfe", kPanelBudgets[b]}, {"diverged", diverged}};
      for (const auto& [name, v] : values)
        row[name] = mean_spread(v).mean, row[name + "_sd"] = mean_spread(v).deviation;
      const auto at = [&](const char* s) { return row[s].get<double>(); };
      fmt::print(table_output(),
                 "| {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} ({:.2f}) | {} |\n",
                 g.alpha, g.variant.name, kPanelBudgets[b], at("f1_prd"), at("w1_pooled"), at("w1_sliced"),
                 at("log_q_0.99"), at("log_q_0.999"), at("log_q_0.9999"), at("hill_fake"), at("hill_real"), diverged);
      table.add({fmt::format("{}", g.alpha), g.variant.name, static_cast<double>(kPanelBudgets[b]), at("f1_prd"),
                 at("w1_pooled"), at("w1_sliced"), at("log_q_0.99"), at("log_q_0.999"), at("log_q_0.9999"),
                 at("hill_fake"), at("hill_real"), diverged});
      out["rows"].push_back(row);
    }

  // One panel for each method, law and budget, of the first seed; the data above.
  std::vector<std::string> rows{"data"}, columns;
  std::vector<std::vector<at::Tensor>> panels(1);
  for (const double alpha : kPanelAlpha)
    for (const int64_t nfe : kPanelBudgets) {
      columns.push_back(fmt::format("α_D = {}, NFE {}", alpha, nfe));
      panels[0].push_back(held_out(config_2d({fmt::format("data.alpha={}", alpha)}, o), 4000).rows);
    }
  for (const PanelVariant& v : variants) {
    rows.emplace_back(v.name);
    panels.emplace_back();
    for (const double alpha : kPanelAlpha)
      for (const int64_t nfe : kPanelBudgets) {
        const auto own = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
          return g.alpha == alpha && std::string_view(g.variant.name) == v.name;
        });
        panels.back().push_back(own == groups.end() ? at::Tensor() : read_npy(file(cells[own->first].name, nfe)));
      }
  }
  const report::Figure figure =
      report::scatter_grid(rows, columns, panels, {.label = "The mixture under flow matching and the baselines"});
  report::Page page("The 2D mixture: flow matching and the baselines",
                    "Same data, network, training and evaluations for every method.");
  page.section("Samples").figure(figure, "Top row: data. Below: samples of the first seed.");
  page.section("Scores").table(table);
  write_experiment(o.folder, "panels", page, out, &figure);
  return out;
}

}  // namespace htfm::app
