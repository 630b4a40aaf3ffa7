#include "htfm/page/tail_risk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "htfm/page/risk_tables.h"
#include "htfm/page/tail_cells.h"
#include "htfm/report/figures.h"
#include "htfm/report/text.h"
#include "htfm/tail/risk_measures.h"

namespace htfm {

namespace {

using Json = nlohmann::ordered_json;

// The levels and those of the periods, each once, ascending.
std::vector<double> all_levels(const TailRiskOptions& o) {
  std::vector<double> out = o.levels;
  for (const double period : o.return_periods) {
    const double p = level_of_period(period);
    if (std::none_of(out.begin(), out.end(), [&](double q) { return std::abs(q - p) < 1e-12; })) out.push_back(p);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string once_in(double p) { return report::number(period_of_level(p), 6); }

Json figure_json(const Scored& s) {
  const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  return {{"value", number(s.value)}, {"interval", {number(s.low), number(s.high)}}};
}

// One threshold of the stability plots, in the direction of the tail.
struct StabilityPoint {
  double threshold, shape, shape_error, scale, scale_error;
};

// For a generalised Pareto law shape and scale - shape u do not depend on the threshold u.
std::vector<StabilityPoint> stability(const TailReport& r) {
  std::vector<StabilityPoint> out;
  for (auto p = r.choice.path.rbegin(); p != r.choice.path.rend(); ++p) {
    const GpdFit fit = fit_gpd(r.tail, p->k);
    if (std::isnan(fit.shape)) continue;
    const double u = r.sign * r.centre + fit.threshold;  // in the units of the data, large towards the tail
    const auto c = fit.covariance();
    out.push_back({u, fit.shape, std::sqrt(c[0]), fit.scale - fit.shape * u,
                   std::sqrt(std::max(c[2] - 2 * u * c[1] + u * u * c[0], 0.0))});
  }
  return out;
}

report::Figure stability_figure(const TailReport& r, const char* title, const char* label,
                                double StabilityPoint::*value, double StabilityPoint::*error) {
  report::Series s{.name = "fit"};
  double low = 1e300, high = -1e300;
  for (const StabilityPoint& p : stability(r)) {
    const double half = 1.96 * p.*error;
    s.x.push_back(p.threshold), s.y.push_back(p.*value);
    s.low.push_back(p.*value - half), s.high.push_back(p.*value + half);
    low = std::min(low, p.*value - half), high = std::max(high, p.*value + half);
  }
  const double u = r.sign * r.centre + r.choice.threshold;
  return report::line_chart(
      {s, {.name = "chosen", .x = {u, u}, .y = {low, high}, .color = report::Color::neutral, .dashed = true}},
      {.label = std::string(title) + " against the threshold",
       .title = title,
       .x = {.label = r.sign > 0 ? "threshold u" : "threshold u of −x"},
       .y = {.label = label},
       .markers = false,
       .width = 440,
       .height = 300});
}

}  // namespace

std::string tail_risk_text(const Diagnosis& d, const TailRiskOptions& o, int64_t columns) {
  CellTable cells{{"tail", "p", "once in (rows)", "value at risk, return level", "expected shortfall"}};
  const std::vector<double> levels = all_levels(o);
  for (const TailReport& r : d.sides) {
    if (r.choice.k == 0 || r.column >= columns) continue;
    for (const RiskMeasure& m : risk_measures(r, levels, o.interval))
      cells.push_back({r.name, fmt::format("{:g}", m.p), once_in(m.p), scored_text(m.quantile), scored_text(m.sfall)});
  }
  if (cells.size() == 1) return {};
  return aligned_text(cells) +
         (columns < d.columns ? fmt::format("(the first {} of {} columns)\n", columns, d.columns) : "");
}

std::string tail_risk_json(const Diagnosis& d, const TailRiskOptions& o) {
  Json j = Json::object();
  for (const TailReport& r : d.sides) {
    if (r.choice.k == 0) continue;
    Json& own = j[r.name];
    own["side"] = r.sign > 0 ? "high" : "low";
    own["riskmeasures"] = own["return_levels"] = Json::array();
    for (const RiskMeasure& m : risk_measures(r, o.levels, o.interval))
      own["riskmeasures"].push_back(
          {{"p", m.p}, {"quantile", figure_json(m.quantile)}, {"sfall", figure_json(m.sfall)}});
    const std::vector<RiskMeasure> far = return_levels(r, o.return_periods, o.interval);
    for (size_t i = 0; i < far.size(); ++i)
      own["return_levels"].push_back({{"period", o.return_periods[i]},
                                      {"level", figure_json(far[i].quantile)},
                                      {"sfall", figure_json(far[i].sfall)}});
  }
  return j.dump();
}

void add_tail_risk(report::Page& page, const TailReport& r, const TailRiskOptions& o) {
  if (r.choice.k == 0) return;
  page.figure(stability_figure(r, "Threshold stability: shape", "shape γ", &StabilityPoint::shape,
                               &StabilityPoint::shape_error),
              "The shape fitted beyond each threshold, with 95 % intervals: constant where a generalised Pareto "
              "distribution holds.");
  page.figure(stability_figure(r, "Threshold stability: modified scale", "scale − γ u", &StabilityPoint::scale,
                               &StabilityPoint::scale_error),
              "The modified scale beyond each threshold: constant in the same range.");
  std::vector<double> levels = all_levels(o);
  for (const double p : {0.9999, 0.99999, 0.999999})
    if (1 / (1 - p) <= 100 * static_cast<double>(r.choice.n) && p > levels.back()) levels.push_back(p);
  report::Table table;
  table.columns = {{"p"}, {"once in"}, {r.sign > 0 ? "beyond" : "below"}, {"mean beyond"}};
  for (const RiskMeasure& m : risk_measures(r, levels, o.interval))
    if (!std::isnan(m.quantile.value))
      table.add({fmt::format("{:g}", m.p), once_in(m.p) + " rows", scored_text(m.quantile), scored_text(m.sfall)});
  table.caption = fmt::format(
      "Return levels (which are values at risk) and expected shortfall by the fitted distribution, with {:g} % profile "
      "intervals{}.",
      100 * o.interval, r.column < 0 ? "" : ", in the units of the data");
  if (!table.rows.empty()) page.table(table);
}

}  // namespace htfm
