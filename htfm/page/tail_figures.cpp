#include "htfm/page/tail_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "htfm/page/tail_risk.h"
#include "htfm/report/figures.h"
#include "htfm/report/text.h"

namespace htfm {

namespace {

/// Estimates of gamma against the number of exceedances, with the chosen one marked.
report::Figure tail_path_figure(const TailReport& r) {
  const TailChoice& c = r.choice;
  const auto series = [&](const char* name, TailEstimate ThresholdPoint::*which) {
    report::Series s{.name = name};
    for (const ThresholdPoint& p : c.path) {
      const TailEstimate& e = p.*which;
      s.x.push_back(static_cast<double>(p.k));
      s.y.push_back(e.gamma);
      s.low.push_back(e.gamma_interval.lower);
      s.high.push_back(e.gamma_interval.upper);
    }
    return s;
  };
  std::vector<report::Series> all{series("generalised Pareto", &ThresholdPoint::gpd),
                                  series("moment", &ThresholdPoint::moment), series("Hill", &ThresholdPoint::hill)};
  // Where few exceedances are left the intervals have no end; the axis shows what is near the choice.
  const double low = std::min({c.gamma_interval.lower, 0.0, c.hill.gamma}) - 0.15,
               high = std::max({c.gamma_interval.upper, 0.1, c.hill.gamma}) + 0.15;
  for (report::Series& s : all)
    for (size_t i = 0; i < s.x.size(); ++i)
      for (std::vector<double>* v : {&s.y, &s.low, &s.high}) (*v)[i] = std::clamp((*v)[i], low, high);
  const auto k = static_cast<double>(c.k);
  all.push_back({.name = fmt::format("chosen: {}", report::count(c.k)),
                 .x = {k, k},
                 .y = {low, high},
                 .color = report::Color::neutral,
                 .dashed = true});
  return report::line_chart(all, {.label = "Estimates of gamma against the number of exceedances",
                                  .title = "γ against k",
                                  .x = {.label = "exceedances k", .scale = report::Scale::log},
                                  .y = {.label = "γ = 1 / index", .range = report::Range{low, high}},
                                  .markers = false,
                                  .width = 440,
                                  .height = 330});
}

/// p-values of the test of fit against k.
report::Figure tail_p_value_figure(const TailReport& r) {
  report::Series p{.name = "p-value of the fit"};
  for (const ThresholdPoint& point : r.choice.path)
    p.x.push_back(static_cast<double>(point.k)), p.y.push_back(std::max(point.p_value, 1e-6));
  const auto k = static_cast<double>(r.choice.k);
  return report::line_chart(
      {p,
       {.name = "rejected below",
        .x = {p.x.front(), p.x.back()},
        .y = {0.1, 0.1},
        .color = report::Color::neutral,
        .dashed = true},
       {.name = "", .x = {k, k}, .y = {1e-6, 1}, .color = report::Color::neutral, .dashed = true}},
      {.label = "p-value of the generalised Pareto fit against the number of exceedances",
       .title = "Does a generalised Pareto distribution fit?",
       .x = {.label = "exceedances k", .scale = report::Scale::log},
       .y = {.label = "p-value", .scale = report::Scale::log},
       .markers = false,
       .width = 440,
       .height = 330});
}

/// Mean excess over u against u: a straight line of slope gamma / (1 - gamma) for a generalised Pareto law.
report::Figure tail_excess_figure(const TailReport& r) {
  const std::vector<double>& x = r.tail;
  report::Series seen{.name = "data"}, fitted{.name = "fitted law", .dashed = true};
  std::vector<double> above(x.size() + 1, 0.0);
  for (size_t i = x.size(); i-- > 0;) above[i] = above[i + 1] + x[i];
  for (const ThresholdPoint& p : r.choice.path) {
    const size_t at = x.size() - static_cast<size_t>(p.k) - 1;
    const auto k = static_cast<double>(p.k);
    const double mean = above[at + 1] / k - p.threshold;
    seen.x.push_back(p.threshold);
    seen.y.push_back(mean);
    double squares = 0;
    for (size_t i = at + 1; i < x.size(); ++i) squares += std::pow(x[i] - p.threshold - mean, 2);
    const double half = 1.96 * std::sqrt(squares) / k;
    seen.low.push_back(std::max(mean - half, mean / 4));
    seen.high.push_back(std::min(mean + half, 4 * mean));
    const GpdFit& f = r.choice.fit;
    if (p.threshold >= r.choice.threshold && f.shape < 1) {
      fitted.x.push_back(p.threshold);
      fitted.y.push_back((f.scale + f.shape * (p.threshold - f.threshold)) / (1 - f.shape));
    }
  }
  const bool log_axes = !seen.x.empty() && seen.x.back() > 0;
  const report::Scale scale = log_axes ? report::Scale::log : report::Scale::linear;
  std::vector<report::Series> all{seen};
  if (!fitted.x.empty()) all.push_back(fitted);
  return report::line_chart(all, {.label = "Mean excess over a threshold",
                                  .title = "Mean excess",
                                  .x = {.label = "threshold u", .scale = scale},
                                  .y = {.label = "mean of x − u beyond u", .scale = scale},
                                  .markers = false,
                                  .width = 440,
                                  .height = 330});
}

/// Order statistics beyond the threshold against the quantiles of the fitted law, on log axes, with the band they
/// should stay in.
report::Figure tail_quantile_figure(const TailReport& r) {
  const GpdFit& f = r.choice.fit;
  const auto k = static_cast<double>(r.choice.k);
  report::Series seen{.name = "data"}, law{.name = "fitted law, 95 %", .color = report::Color::neutral, .dashed = true};
  const double zero = f.threshold > 0 ? 0 : -f.threshold + f.scale * 0.01;  // log axes need positive numbers
  for (int64_t rank = r.choice.k; rank >= 1; rank -= std::max<int64_t>(1, rank / 25)) {
    const double i = static_cast<double>(rank), p = (i - 0.5) / k, spread = std::exp(1.96 / std::sqrt(i));
    const double model = f.threshold + f.excess_quantile(p) + zero;
    seen.x.push_back(model);
    seen.y.push_back(r.tail[r.tail.size() - static_cast<size_t>(rank)] + zero);
    law.x.push_back(model);
    law.y.push_back(model);
    law.low.push_back(f.threshold + f.excess_quantile(std::min(p * spread, 1.0)) + zero);
    law.high.push_back(f.threshold + f.excess_quantile(p / spread) + zero);
  }
  return report::line_chart({seen, law}, {.label = "Quantiles of the data against those of the fitted distribution",
                                          .title = "Quantiles",
                                          .x = {.label = "fitted law", .scale = report::Scale::log},
                                          .y = {.label = "data", .scale = report::Scale::log},
                                          .markers = false,
                                          .width = 440,
                                          .height = 330});
}

}  // namespace

void add_tail_figures(report::Page& page, const TailReport& r) {
  page.text(r.sentence);
  if (r.choice.k == 0) return;
  page.figure(tail_path_figure(r),
              "Estimates against the number of exceedances. They should agree where the tail has begun; the dashed "
              "line is the choice.");
  page.figure(tail_p_value_figure(r), "The choice is the largest number of exceedances that the test does not reject.");
  page.figure(tail_excess_figure(r),
              "Mean excess, or mean residual life: for a power law it grows in proportion to the threshold, for a "
              "light tail it stays constant or falls.");
  page.figure(tail_quantile_figure(r), "Values beyond the threshold against the quantiles of the fitted distribution.");
  add_tail_risk(page, r);
}

}  // namespace htfm
