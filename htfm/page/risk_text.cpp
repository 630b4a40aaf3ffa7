#include "htfm/page/risk_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "htfm/page/risk_tables.h"
#include "htfm/page/tail_cells.h"
#include "htfm/report/figures.h"
#include "htfm/report/text.h"

namespace htfm {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kRiskPairsShown = 20, kTablesShown = 4;

Json number_json(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json scored_json(const Scored& s) {
  Json j{{"value", number_json(s.value)}};
  if (std::isinf(s.value)) j["infinite"] = true;
  if (s.has_interval()) j["interval"] = {number_json(s.low), number_json(s.high)};
  return j;
}

Json measure_json(const RiskMeasure& m) {
  return {{"p", m.p}, {"quantile", scored_json(m.quantile)}, {"sfall", scored_json(m.sfall)}};
}

report::Table page_table(const CellTable& cells, const std::string& caption) {
  report::Table out;
  out.caption = caption;
  for (const std::string& title : cells[0]) out.columns.push_back({title});
  for (size_t i = 1; i < cells.size(); ++i) {
    std::vector<report::Cell> row;
    for (const std::string& cell : cells[i]) row.emplace_back(cell);
    out.add(std::move(row)).rule_above = i > 1 && cells[i][0] != cells[i - 1][0];
  }
  return out;
}

// Return levels against the period, with intervals.
report::Figure return_figure(const RiskReport& r, const RiskLoss& loss) {
  report::Series s{.name = loss.name};
  for (const RiskMeasure& m : loss.measures) {
    if (!std::isfinite(m.quantile.value)) continue;
    s.x.push_back(period_of_level(m.p) / r.options.rows_per_period), s.y.push_back(m.quantile.value);
    s.low.push_back(m.quantile.low), s.high.push_back(m.quantile.high);
  }
  return report::line_chart({s}, {.label = "Return levels of " + loss.name,
                                  .title = loss_name(loss),
                                  .x = {.label = once_in_title(r), .scale = report::Scale::log},
                                  .y = {.label = "level"},
                                  .width = 440,
                                  .height = 300});
}

}  // namespace

std::string risk_text(const RiskReport& r) {
  std::string out = aligned_text(measure_cells(r));
  if (!periods_are_levels(r)) out += "\n" + aligned_text(return_cells(r));
  if (!r.pairs.empty()) {
    const size_t level = shown_level(r);
    out += fmt::format("\nboth beyond their {:g} quantiles\n{}", r.options.levels[level],
                       aligned_text(pair_cells(r, level, kRiskPairsShown)));
    if (r.pairs.size() > kRiskPairsShown) out += fmt::format("({} of {} pairs)\n", kRiskPairsShown, r.pairs.size());
  }
  // The portfolio's stress is the one that was asked for; files and JSON have all of them.
  const size_t first = r.with_portfolio && !r.stress.empty() ? r.stress.size() - 1 : 0,
               shown = std::min(r.stress.size() - first, kTablesShown);
  for (size_t i = first; i < first + shown; ++i)
    out += "\n" + stress_title(r, r.stress[i]) + "\n" + aligned_text(stress_cells(r, r.stress[i]));
  if (shown < r.stress.size())
    out += fmt::format("({} of {} stress tables; -o FOLDER writes all)\n", shown, r.stress.size());
  out += "\n";
  for (const std::string& note : r.notes) out += note + "\n";
  return out;
}

std::string risk_json(const RiskReport& r) {
  Json j{{"samples", r.samples.size(0)},
         {"training_rows", r.training_rows},
         {"interval_level", r.options.interval},
         {"uncertainty", r.options.rounds > 0 ? uncertainty_name(r.uncertainty) : "none"},
         {"rounds", r.options.rounds},
         {"refits", r.options.refits},
         {"rows_per_period", r.options.rows_per_period},
         {"notes", r.notes},
         {"seconds", r.seconds}};
  for (const auto& [name, weight] : r.options.portfolio) j["portfolio"][name] = weight;
  for (const RiskLoss& l : r.losses) {
    Json& own = j["losses"][l.name];
    own["side"] = l.high ? "high" : "low", own["by"] = l.exact ? "law" : "samples";
    own["measures"] = own["return_levels"] = Json::array();
    for (const RiskMeasure& m : l.measures) own["measures"].push_back(measure_json(m));
    for (size_t i = 0; i < l.return_levels.size(); ++i) {
      Json level{{"period", r.options.return_periods[i]}};
      level.update(measure_json(l.return_levels[i]));
      own["return_levels"].push_back(level);
    }
  }
  j["joint"] = j["stress"] = Json::array();
  for (const JointRisks& pair : r.pairs)
    for (const JointRisk& risk : pair.levels)
      j["joint"].push_back({{"first", r.losses[static_cast<size_t>(pair.first)].name},
                            {"second", r.losses[static_cast<size_t>(pair.second)].name},
                            {"p", risk.p},
                            {"both", scored_json(risk.both)},
                            {"second_given_first", scored_json(risk.second_given_first)},
                            {"first_given_second", scored_json(risk.first_given_second)},
                            {"mean_second", scored_json(risk.mean_second)},
                            {"mean_first", scored_json(risk.mean_first)},
                            {"rows", scored_json(risk.rows)}});
  for (const StressTable& t : r.stress) {
    Json table{
        {"given", r.losses[static_cast<size_t>(t.given)].name}, {"p", r.options.stress_level}, {"samples", t.samples}};
    for (size_t k = 0; k < t.rows.size(); ++k) {
      Json& row = table["columns"][r.losses[k].name];
      row["mean"] = scored_json(t.rows[k].mean);
      for (size_t q = 0; q < t.rows[k].quantiles.size(); ++q)
        row["quantiles"][fmt::format("{:g}", r.options.stress_quantiles[q])] = scored_json(t.rows[k].quantiles[q]);
    }
    j["stress"].push_back(table);
  }
  return j.dump();
}

void add_risk_section(report::Page& page, const RiskReport& r) {
  constexpr size_t kFigures = 8;
  page.section("Risk").text(
      "A loss is a large value of a column, or a small one if it is marked (low); beyond means on that side. All "
      "values are in the units of the data.");
  page.table(page_table(measure_cells(r),
                        "Value at risk: the level that losses do not exceed with probability p. Expected shortfall: "
                        "their mean beyond it; ∞ if the distribution has none."));
  if (!periods_are_levels(r))
    page.table(page_table(return_cells(r), "Return levels: what is exceeded once in this many."));
  for (size_t k = 0; k < r.losses.size() && k < kFigures; ++k)
    if (r.losses[k].measures.size() > 1)
      page.figure(return_figure(r, r.losses[k]), r.losses[k].name + ": levels against how rarely they are exceeded.");
  if (!r.pairs.empty()) {
    const size_t level = shown_level(r);
    page.table(
        page_table(pair_cells(r, level, 60),
                   fmt::format("Joint exceedances of the {:g} quantiles, and what one column does when the other "
                               "is beyond. The rows' own share has Wilson's interval.",
                               r.options.levels[level])));
  }
  for (const StressTable& t : r.stress)
    page.table(page_table(stress_cells(r, t), "Stress: " + stress_title(r, t) + "."));
  std::string notes;
  for (const std::string& note : r.notes) notes += note + " ";
  page.remark(notes);
}

std::string risk_page(const std::string& name, const RiskReport& r, const report::KeyValues& origin) {
  report::Page page("Risk of " + name, fmt::format("{} samples of the model.", report::count(r.samples.size(0))));
  add_risk_section(page, r);
  page.provenance(origin);
  return page.html();
}

}  // namespace htfm
