// Tables of skewed laws under a symmetric and a skewed source, as `htfm fit` plans them: far quantiles on both sides.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "experiment/reproduce.h"
#include "htfm/evaluate/run.h"
#include "htfm/fit/plan_table.h"
#include "htfm/io/file.h"
#include "htfm/io/npy.h"
#include "htfm/metric/quantile_error.h"
#include "htfm/metric/tails.h"
#include "htfm/report/figures.h"
#include "htfm/report/page.h"
#include "htfm/stat/sort.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

constexpr int64_t kRows = 3500, kDim = 3, kSkewJudge = 1'000'000;
const std::vector<double> kFar{0.99, 0.999};

struct TableLaw {
  const char* name;
  ClockSpec clock;
  SourceMeanSpec mean;
};

const std::vector<TableLaw>& laws() {
  static const std::vector<TableLaw> list{{"skewed-student", {"inverse-gamma", {{"nu", 6.0}}, 1}, {"0.8,-0.3,0", ""}},
                                          {"variance-gamma", {"gamma", {{"shape", 1.0}}, 1}, {"0.8,-0.3,0", ""}},
                                          {"student", {"inverse-gamma", {{"nu", 4.0}}, 1}, {}}};
  return list;
}

at::Tensor draw(const TableLaw& law, Key key, int64_t n) {
  const at::Tensor area = make_clock(law.clock)->sample(key.child("clock"), {.count = n, .paths = false}).area;
  at::Tensor x = sample_source(key.child("source"), area, kDim);
  SourceMean(law.mean).add(area, x);
  return x;
}

// Distances of the quantiles from these medians: column by column, above and below, level by level.
std::vector<double> side_quantiles(const at::Tensor& rows, std::span<const double> median,
                                   const std::vector<double>& levels) {
  std::vector<double> out;
  for (int64_t k = 0; k < rows.size(1); ++k) {
    const at::Tensor column = rows.select(1, k).contiguous();
    std::vector<double> values(column.const_data_ptr<double>(), column.const_data_ptr<double>() + column.numel());
    std::erase_if(values, [](double v) { return !std::isfinite(v); });
    sort_values(values);
    for (const bool above : {true, false})
      for (const double p : levels)
        out.push_back(above ? quantile_of_sorted(values, p) - median[k]
                            : median[k] - quantile_of_sorted(values, 1 - p));
  }
  return out;
}

// Levels whose complements fall evenly on a log axis, for the figure.
std::vector<double> figure_levels() {
  std::vector<double> out;
  for (int i = 2; i <= 24; ++i) out.push_back(1 - std::pow(10.0, -i / 6.0));
  return out;
}

struct Judge {
  std::vector<double> median, far, curve;
  explicit Judge(const TableLaw& law) {
    const at::Tensor rows = draw(law, Key(0).child("judge"), kSkewJudge);
    const at::Tensor middle = std::get<0>(rows.sort(0)).select(0, kSkewJudge / 2).contiguous();
    median.assign(middle.const_data_ptr<double>(), middle.const_data_ptr<double>() + kDim);
    far = side_quantiles(rows, median, kFar), curve = side_quantiles(rows, median, figure_levels());
  }
};

// |log| errors of the far quantiles over columns: {0.99 above, 0.999 above, 0.99 below, 0.999 below}.
std::vector<double> side_errors(const std::vector<double>& model, const std::vector<double>& truth) {
  const size_t per = 2 * kFar.size();
  std::vector<double> out;
  for (size_t i = 0; i < per; ++i) {
    std::vector<double> at;
    for (size_t v = i; v < truth.size(); v += per)
      at.push_back(model[v] > 0 ? std::abs(std::log(model[v] / truth[v])) : std::nan(""));
    out.push_back(finite_mean(at));
  }
  return out;
}

report::Figure survival_figure(const Judge& judge,
                               const std::vector<std::pair<std::string, std::vector<double>>>& models) {
  const std::vector<double> levels = figure_levels();
  report::Figure out;
  out.label = "Both sides of a skewed column under a symmetric and a skewed source";
  out.columns = 2;
  for (const bool above : {true, false}) {
    std::vector<report::Series> series;
    const auto add = [&](const std::string& name, const std::vector<double>& curve, bool law) {
      report::Series s{.name = name, .color = law ? report::Color::neutral : report::Color::automatic, .dashed = law};
      for (size_t i = 0; i < levels.size(); ++i) {
        const double distance = curve[(above ? 0 : levels.size()) + i];
        if (distance > 0) s.x.push_back(distance), s.y.push_back(1 - levels[i]);
      }
      series.push_back(std::move(s));
    };
    for (const auto& [name, curve] : models) add(name, curve, false);
    add("the law", judge.curve, true);
    const report::Figure side =
        report::line_chart(series, {.label = above ? "Survival above the median" : "Survival below the median",
                                    .title = above ? "Above the median" : "Below the median",
                                    .x = {.label = "distance from the median", .scale = report::Scale::log},
                                    .y = {.label = "share beyond", .scale = report::Scale::log},
                                    .markers = false,
                                    .width = 440,
                                    .height = 330});
    out.tiles.insert(out.tiles.end(), side.tiles.begin(), side.tiles.end());
  }
  return out;
}

}  // namespace

Json reproduce_skew(const ReproduceOptions& o) {
  make_folder(o.folder + "/data");
  std::vector<Judge> judges;
  for (const TableLaw& law : laws()) judges.emplace_back(law);
  struct Entry {
    size_t law;
    bool skewed;  // the plan of `htfm fit`, or one that may not be skewed
    std::string chosen;
  };
  std::vector<Cell> cells;
  std::map<std::string, Entry> entries;
  for (size_t l = 0; l < laws().size(); ++l)
    for (int64_t k = 0; k < o.seeds; ++k) {
      const std::string name = fmt::format("{}-{}", laws()[l].name, k),
                        path = fmt::format("{}/data/{}.npy", o.folder, name);
      if (!o.wants(name)) continue;
      if (!std::filesystem::exists(path))
        write_npy(path, draw(laws()[l], Key(static_cast<uint64_t>(k)).child("table"), kRows));
      for (const bool skewed : {true, false}) {
        std::vector<std::string> user{"data.normalise=table"};  // one clock for all columns
        user.insert(user.end(), o.settings.begin(), o.settings.end());
        if (!skewed) user.emplace_back("source.law=");
        RunConfig base;
        base.seed = k, base.sample.n = kSkewJudge, base.data.path = path;
        const TablePlan plan = plan_table(base, user);
        cells.push_back({name + (skewed ? "-fit" : "-symmetric"), plan.model});
        entries[cells.back().name] = {l, skewed, plan.model.source_law.empty() ? "symmetric" : plan.model.source_law};
        if (skewed) say(fmt::format("{}: {}", name, plan.clock.explanation));
      }
    }
  const std::vector<Json> results = run_cells(cells, o.folder, [&](const Cell& cell) {
    const Judge& judge = judges[entries.at(cell.name).law];
    const Model model = train(cell.config);
    const SampleResult s = sample(model, sample_options(cell.config));
    const std::vector<double> far = side_quantiles(s.samples, judge.median, kFar);
    return Json{{"cell", cell.name},
                {"steps", model.step},
                {"diverged", s.diverged},
                {"far", far},
                {"curve", side_quantiles(s.samples, judge.median, figure_levels())}};
  });

  Json out{{"experiment", "skew"}, {"summary", Json::object()}, {"cells", Json::array()}};
  report::Table table;
  table.caption = fmt::format(
      "Mean absolute error of the logarithm of the quantiles' distances from the median, over {} columns and the "
      "tables of a law ({} rows "
      "each), with the deviation over tables; against {} draws of the law.",
      kDim, kRows, kSkewJudge);
  table.columns = {{"law"},
                   {"source"},
                   {"0.99 above"},
                   {"0.999 above"},
                   {"0.99 below"},
                   {"0.999 below"},
                   {"all", report::Best::lowest, 3}};
  std::map<std::string, std::vector<std::pair<std::string, std::vector<double>>>> curves;
  const auto add_line = [&](const TableLaw& law, const std::string& source,
                            const std::vector<std::vector<double>>& errors) {
    std::vector<report::Cell> line{law.name, source};
    std::string text = fmt::format("{:<15} {:<30}", law.name, source);
    Json summary;
    for (size_t s = 0; s <= 2 * kFar.size(); ++s) {  // each side and level, then all
      std::vector<double> values;
      values.reserve(errors.size());
      for (const std::vector<double>& table_errors : errors)
        values.push_back(s < table_errors.size() ? table_errors[s] : finite_mean(table_errors));
      const Spread spread = mean_spread(values);
      report::Cell cell(spread.mean);
      cell.spread(spread.deviation);
      line.push_back(cell);
      text += "  " + spread_text(spread, 3);
      summary.push_back({{"mean", spread.mean}, {"deviation", spread.deviation}});
    }
    out["summary"][law.name][source] = summary;
    table.add(std::move(line));
    say(text);
  };
  for (size_t l = 0; l < laws().size(); ++l) {
    std::vector<std::vector<double>> own;
    for (const bool skewed : {false, true}) {
      std::vector<std::vector<double>> all;
      std::vector<double> mean_log;
      std::string chosen;
      for (size_t i = 0; i < cells.size(); ++i) {
        const Entry& e = entries.at(cells[i].name);
        if (e.law != l || e.skewed != skewed) continue;
        all.push_back(side_errors(results[i]["far"].get<std::vector<double>>(), judges[l].far));
        out["cells"].push_back({{"cell", cells[i].name}, {"source", e.chosen}, {"errors", all.back()}});
        const auto curve = results[i]["curve"].get<std::vector<double>>();
        mean_log.resize(curve.size());
        for (size_t k = 0; k < curve.size(); ++k) mean_log[k] += std::log(curve[k]);
        if (chosen.find(e.chosen) == std::string::npos) chosen += (chosen.empty() ? "" : ", ") + e.chosen;
        if (skewed)
          own.push_back(
              side_errors(side_quantiles(read_npy(cells[i].config.data.path), judges[l].median, kFar), judges[l].far));
      }
      if (all.empty()) continue;
      add_line(laws()[l], skewed ? "of htfm fit: " + chosen : "symmetric", all);
      for (double& v : mean_log) v = std::exp(v / static_cast<double>(all.size()));
      curves[laws()[l].name].emplace_back(skewed ? "skewed source" : "symmetric source", mean_log);
    }
    if (!own.empty()) add_line(laws()[l], "none: the table's own quantiles", own);
  }
  report::Page page("Skewed tables", "The same table under a symmetric and a skewed source.");
  page.section("Far quantiles").table(table);
  report::Figure figure;
  const auto found = curves.find(laws()[0].name);
  const bool both = found != curves.end() && found->second.size() == 2;
  if (both) {
    figure = survival_figure(judges[0], found->second);
    page.section("Both sides")
        .figure(figure,
                "The first column of the tables of the skewed Student-t law: geometric mean of the distances over the "
                "tables.");
  }
  write_experiment(o.folder, "skew", page, out, both ? &figure : nullptr);
  return out;
}

}  // namespace htfm::app
