#include "app/tail_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "htfm/report/figures.h"
#include "htfm/report/text.h"

namespace htfm::app {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string index_text(double index) { return std::isinf(index) ? "∞" : std::isnan(index) ? "-" : fmt::format("{:.2f}", index); }

std::string interval_text(const Interval& i) {
  return std::isnan(i.lower) ? "" : fmt::format("{} to {}", index_text(i.lower), index_text(i.upper));
}

/// Index of an estimate and its interval, "2.31 (2.10 to 2.55)".
std::string estimate_text(const TailEstimate& e) {
  return std::isnan(e.gamma) ? "-" : fmt::format("{} ({})", index_text(e.index()), interval_text(e.index_interval()));
}

/// Estimates of gamma against the number of exceedances, with the chosen one marked.
report::Figure path_figure(const TailReport& r) {
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
  std::vector<report::Series> all{series("generalised Pareto", &ThresholdPoint::gpd), series("moment", &ThresholdPoint::moment),
                                  series("Hill", &ThresholdPoint::hill)};
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
report::Figure fit_figure(const TailReport& r) {
  report::Series p{.name = "p-value of the fit"};
  for (const ThresholdPoint& point : r.choice.path)
    p.x.push_back(static_cast<double>(point.k)), p.y.push_back(std::max(point.p_value, 1e-6));
  const auto k = static_cast<double>(r.choice.k);
  return report::line_chart(
      {p,
       {.name = "rejected below", .x = {p.x.front(), p.x.back()}, .y = {0.1, 0.1}, .color = report::Color::neutral, .dashed = true},
       {.name = "", .x = {k, k}, .y = {1e-6, 1}, .color = report::Color::neutral, .dashed = true}},
      {.label = "p-value of the generalised Pareto fit against the number of exceedances",
       .title = "Does a generalised Pareto law fit?",
       .x = {.label = "exceedances k", .scale = report::Scale::log},
       .y = {.label = "p-value", .scale = report::Scale::log},
       .markers = false,
       .width = 440,
       .height = 330});
}

/// Mean excess over u against u: a straight line of slope gamma / (1 - gamma) for a generalised Pareto law.
report::Figure excess_figure(const TailReport& r) {
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

/// Order statistics beyond the threshold against the quantiles of the fitted law, on log axes, with the band they should stay in.
report::Figure quantile_figure(const TailReport& r) {
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
  return report::line_chart({seen, law}, {.label = "Quantiles of the data against those of the fitted law",
                                          .title = "Quantiles",
                                          .x = {.label = "fitted law", .scale = report::Scale::log},
                                          .y = {.label = "data", .scale = report::Scale::log},
                                          .markers = false,
                                          .width = 440,
                                          .height = 330});
}

report::Table return_levels(const TailReport& r) {
  report::Table table;
  table.columns = {{"once in"}, {r.sign > 0 ? "beyond" : "below"}, {"95 % interval"}};
  const auto n = static_cast<double>(r.choice.n);
  for (const double rows : {100.0, 1e3, 1e4, 1e5, 1e6}) {
    const double p = 1 / rows;
    if (p * n >= static_cast<double>(r.choice.k) || rows > 100 * n) continue;
    const Interval i = r.quantile_interval(p);
    table.add({report::count(static_cast<int64_t>(rows)) + " rows", report::number(r.quantile(p)),
               report::number(i.lower) + " to " + report::number(i.upper)});
  }
  table.caption = r.column < 0 ? "How far it goes, by the fitted law." : "How far it goes, by the fitted law, in the units of the data.";
  return table;
}

void add_figures(report::Page& page, const TailReport& r) {
  page.text(r.sentence);
  if (r.choice.k == 0) return;
  page.figure(path_figure(r),
              "Estimates against the number of exceedances. They should agree where the tail has begun; the dashed line is the choice.");
  page.figure(fit_figure(r), "The choice is the largest number of exceedances that the test does not reject.");
  page.figure(excess_figure(r),
              "The mean excess of a power law grows in proportion with the threshold; that of a light tail stays or falls.");
  page.figure(quantile_figure(r), "Values beyond the threshold against the quantiles of the fitted law.");
  const report::Table levels = return_levels(r);
  if (!levels.rows.empty()) page.table(levels);
}

std::vector<const TailReport*> listed(const Diagnosis& d) {
  std::vector<const TailReport*> all{&d.radius};
  for (const TailReport& side : d.sides) all.push_back(&side);
  return all;
}

Json skewness_json(const Skewness& s) {
  const auto interval = [](const Interval& i) { return Json::array({i.lower, i.upper}); };
  Json j{{"verdict", skew_verdict_name(s.verdict)}, {"sentence", s.sentence}};
  if (s.verdict == SkewVerdict::unclear) return j;
  j["octile"] = s.body, j["octile_interval"] = interval(s.body_interval);
  j["share"] = s.share, j["ratio"] = s.ratio, j["ratio_interval"] = interval(s.ratio_interval);
  j["gamma_difference"] = s.gamma_difference, j["gamma_difference_interval"] = interval(s.gamma_interval);
  j["p_value"] = s.p_value;
  return j;
}

// The columns of the table of skewness, as text.
constexpr std::array<const char*, 5> kSkewTitles{"column", "tails", "octile skewness", "distance above / below", "γ above − below"};
std::array<std::string, 5> skewness_cells(const Skewness& s) {
  const std::string verdict = skew_verdict_name(s.verdict);
  if (s.verdict == SkewVerdict::unclear) return {s.name, verdict, "-", "-", "-"};
  return {s.name, verdict, fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", s.body, s.body_interval.lower, s.body_interval.upper),
          fmt::format("{:.2f} ({:.2f} to {:.2f}) beyond {:.2g}", s.ratio, s.ratio_interval.lower, s.ratio_interval.upper, s.share),
          fmt::format("{:+.2f} ({:+.2f} to {:+.2f})", s.gamma_difference, s.gamma_interval.lower, s.gamma_interval.upper)};
}

// Cells in columns as wide as their widest, two spaces between.
template <size_t N>
std::string aligned(const std::vector<std::array<std::string, N>>& cells) {
  const auto width = [](const std::string& s) {
    return static_cast<size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  };
  std::array<size_t, N> widest{};
  for (const auto& row : cells)
    for (size_t i = 0; i < N; ++i) widest[i] = std::max(widest[i], width(row[i]));
  std::string out;
  for (const auto& row : cells) {
    std::string line;
    for (size_t i = 0; i < N; ++i) line += row[i] + std::string(i + 1 < N ? widest[i] - width(row[i]) + 2 : 0, ' ');
    out += line + "\n";
  }
  return out;
}

Json tail_json(const TailReport& r) {
  const TailChoice& c = r.choice;
  const auto interval = [](const Interval& i) { return Json::array({i.lower, i.upper}); };
  Json j{{"verdict", verdict_name(r.verdict)}, {"sentence", r.sentence}, {"exceedances", c.k}, {"rows", c.n}};
  if (c.k == 0) return j;
  j["threshold"] = r.centre + r.sign * c.threshold;
  j["p_value"] = c.p_value;
  j["gamma"] = c.gamma;
  j["gamma_interval"] = interval(c.gamma_interval);
  // JSON has no infinity: null is "no power law".
  j["index"] = c.index() < kInfinity ? Json(c.index()) : Json(nullptr);
  j["index_interval"] = {c.index_interval().lower < kInfinity ? Json(c.index_interval().lower) : Json(nullptr),
                         c.index_interval().upper < kInfinity ? Json(c.index_interval().upper) : Json(nullptr)};
  const auto estimate = [&](const TailEstimate& e) {
    return std::isnan(e.gamma) ? Json(nullptr) : Json{{"gamma", e.gamma}, {"interval", interval(e.gamma_interval)}};
  };
  j["hill"] = estimate(c.hill);
  j["moment"] = estimate(c.moment);
  j["gpd"] = estimate(c.fit.estimate());
  j["gpd"]["scale"] = c.fit.scale;
  for (const double p : {1e-3, 1e-4, 1e-5}) {
    if (p * static_cast<double>(c.n) >= static_cast<double>(c.k)) continue;
    const Interval i = r.quantile_interval(p);
    j["exceeded_with"][fmt::format("{:g}", p)] = {{"value", r.quantile(p)}, {"interval", interval(i)}};
  }
  return j;
}

}  // namespace

void add_tail_sections(report::Page& page, const Diagnosis& d, int64_t columns) {
  page.section("Verdict").text(d.sentence);
  for (const std::string& name : d.constant) page.remark(fmt::format("{} is constant and left out.", name));
  report::Table table;
  table.caption =
      "Tail indices with 95 % intervals; ∞ stands for no power law. The index joins the estimators, at two thresholds, with an "
      "allowance for bias.";
  table.columns = {{"tail"}, {"verdict"}, {"index"}, {"Hill"}, {"moment"}, {"generalised Pareto"}, {"exceedances"}, {"beyond"}};
  for (const TailReport* r : listed(d)) {
    const TailChoice& c = r->choice;
    if (c.k == 0)
      table.add({r->name, verdict_name(r->verdict), "-", "-", "-", "-", 0, "-"});
    else
      table.add({r->name, verdict_name(r->verdict), index_text(c.index()) + " (" + interval_text(c.index_interval()) + ")",
                 estimate_text(c.hill), estimate_text(c.moment), estimate_text(c.fit.estimate()), c.k,
                 report::number(r->centre + r->sign * c.threshold)});
  }
  page.table(table);
  report::Table skew;
  skew.caption =
      "The two sides of each column with 95 % intervals. Octile skewness is that of the body, between −1 and 1. Distances are from the "
      "median, to where the stated share of the rows lies beyond on each side. Tails are called heavier on one side where the ratio of the "
      "distances or the difference of γ = 1 / index is more than chance: in one of a hundred tables that are symmetric.";
  for (const char* title : kSkewTitles) skew.columns.push_back({title});
  for (const Skewness& s : d.skewness) {
    const auto cells = skewness_cells(s);
    skew.add({cells[0], cells[1], cells[2], cells[3], cells[4]});
  }
  page.table(skew);
  if (!d.directions.empty()) {
    int64_t heavy = 0, light = 0;
    for (const TailReport& r : d.directions) heavy += r.verdict == TailVerdict::heavy, light += r.verdict == TailVerdict::light;
    const Interval range = d.direction_indices();
    page.text(fmt::format("Of {} random directions {} are heavy, {} light, {} too small to tell; their indices go from {} to {}.",
                          d.directions.size(), heavy, light, static_cast<int64_t>(d.directions.size()) - heavy - light,
                          index_text(range.lower), index_text(range.upper)));
    report::DotSeries dots{.name = "direction"};
    std::vector<std::string> names;
    for (const TailReport& r : d.directions) {
      if (r.choice.k == 0 || names.size() >= 16) continue;
      names.push_back(r.name);
      dots.values.push_back(r.choice.gamma);
      dots.low.push_back(r.choice.gamma_interval.lower);
      dots.high.push_back(r.choice.gamma_interval.upper);
    }
    page.figure(report::dot_chart(names, {dots}, {.label = "gamma by direction", .x = {.label = "γ = 1 / index"}, .row_height = 18}),
                fmt::format("γ in {} of the random directions of the standardised columns, with intervals.", names.size()));
  }
  page.section("Radius").text(fmt::format("Distances from the medians, each of the {} columns in units of its quantile range.",
                                          d.columns - static_cast<int64_t>(d.constant.size())));
  add_figures(page, d.radius);
  for (int64_t column = 0; column < std::min(columns, d.columns); ++column) {
    const TailReport &above = d.sides[static_cast<size_t>(2 * column)], &below = d.sides[static_cast<size_t>(2 * column + 1)];
    if (above.choice.k == 0 && below.choice.k == 0) continue;
    page.section(d.skewness[static_cast<size_t>(column)].name);
    for (const TailReport* side : {&above, &below}) {
      page.heading(side->sign > 0 ? "Above the median" : "Below the median");
      add_figures(page, *side);
    }
  }
  if (columns < d.columns) page.remark(fmt::format("Plots are shown for the first {} of {} columns.", columns, d.columns));
}

Json diagnosis_json(const Diagnosis& d) {
  Json j{{"rows", d.rows}, {"columns", d.columns}, {"verdict", verdict_name(d.verdict)}, {"sentence", d.sentence}};
  if (!d.constant.empty()) j["constant"] = d.constant;
  for (const TailReport* r : listed(d)) j["tails"][r->name] = tail_json(*r);
  for (const Skewness& s : d.skewness) j["skewness"][s.name] = skewness_json(s);
  j["skewed"] = d.most_skewed() >= 0;
  if (!d.directions.empty()) {
    int64_t heavy = 0, light = 0;
    for (const TailReport& r : d.directions) heavy += r.verdict == TailVerdict::heavy, light += r.verdict == TailVerdict::light;
    const Interval range = d.direction_indices();
    const auto number = [](double x) { return x < kInfinity ? Json(x) : Json(nullptr); };
    j["directions"] = {
        {"count", d.directions.size()}, {"heavy", heavy}, {"light", light}, {"index", {number(range.lower), number(range.upper)}}};
  }
  return j;
}

std::string diagnosis_text(const Diagnosis& d) {
  std::vector<std::array<std::string, 7>> cells{{"tail", "verdict", "index (95 %)", "Hill", "moment", "gen. Pareto", "exceedances"}};
  for (const TailReport* r : listed(d)) {
    const TailChoice& c = r->choice;
    if (c.k == 0)
      cells.push_back({r->name, verdict_name(r->verdict), "-", "-", "-", "-", "0"});
    else
      cells.push_back({r->name, verdict_name(r->verdict), fmt::format("{} ({})", index_text(c.index()), interval_text(c.index_interval())),
                       index_text(c.hill.index()), index_text(c.moment.index()), index_text(c.fit.estimate().index()),
                       fmt::format("{} beyond {}", c.k, report::number(r->centre + r->sign * c.threshold))});
  }
  std::vector<std::array<std::string, 5>> skew(1);
  std::copy(kSkewTitles.begin(), kSkewTitles.end(), skew[0].begin());
  for (const Skewness& s : d.skewness) skew.push_back(skewness_cells(s));
  return aligned(cells) + "\n" + aligned(skew);
}

}  // namespace htfm::app
