#include "htfm/page/tail_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "htfm/page/tail_cells.h"
#include "htfm/report/text.h"

namespace htfm {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

std::string diagnosis_json(const Diagnosis& d) {
  Json j{{"rows", d.rows}, {"columns", d.columns}, {"verdict", verdict_name(d.verdict)}, {"sentence", d.sentence}};
  if (!d.constant.empty()) j["constant"] = d.constant;
  for (const TailReport* r : listed_tails(d)) j["tails"][r->name] = tail_json(*r);
  for (const Skewness& s : d.skewness) j["skewness"][s.name] = skewness_json(s);
  j["skewed"] = d.most_skewed() >= 0;
  if (!d.directions.empty()) {
    const DirectionCounts directions = count_directions(d);
    const Interval range = d.direction_indices();
    const auto number = [](double x) { return x < kInfinity ? Json(x) : Json(nullptr); };
    j["directions"] = {{"count", d.directions.size()},
                       {"heavy", directions.heavy},
                       {"light", directions.light},
                       {"index", {number(range.lower), number(range.upper)}}};
  }
  return j.dump();
}

std::string diagnosis_text(const Diagnosis& d) {
  std::vector<std::vector<std::string>> cells{
      {"tail", "verdict", "index (95 %)", "Hill", "moment", "gen. Pareto", "exceedances"}};
  for (const TailReport* r : listed_tails(d)) {
    const TailChoice& c = r->choice;
    if (c.k == 0)
      cells.push_back({r->name, verdict_name(r->verdict), "-", "-", "-", "-", "0"});
    else
      cells.push_back({r->name, verdict_name(r->verdict),
                       fmt::format("{} ({})", index_text(c.index()), interval_text(c.index_interval())),
                       index_text(c.hill.index()), index_text(c.moment.index()), index_text(c.fit.estimate().index()),
                       fmt::format("{} beyond {}", c.k, report::number(r->centre + r->sign * c.threshold))});
  }
  std::vector<std::vector<std::string>> skew{{kSkewTitles.begin(), kSkewTitles.end()}};
  for (const Skewness& s : d.skewness) {
    const auto own = skewness_cells(s);
    skew.emplace_back(own.begin(), own.end());
  }
  return aligned_text(cells) + "\n" + aligned_text(skew);
}

}  // namespace htfm
