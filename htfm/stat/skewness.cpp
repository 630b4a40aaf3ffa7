#include "htfm/stat/skewness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "htfm/stat/order.h"

namespace htfm {

namespace {

constexpr int64_t kFewestRows = 100;
constexpr double kTailShare = 0.01;
constexpr double kFewestBeyond = 25;  // rows beyond each distance

// The quantiles at p, 1/2 and 1 - p, and how fast they move with their levels.
struct ThreeQuantiles {
  double p, low, middle, high;
  std::array<double, 3> slope;
  double n;

  // The standard error of a function of the three with this gradient: the levels have covariance a (1 - b) / n for a <=
  // b.
  double standard_error(const std::array<double, 3>& gradient) const {
    const std::array<double, 3> at{p, 0.5, 1 - p};
    double variance = 0;
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 3; ++j)
        variance += gradient[i] * slope[i] * gradient[j] * slope[j] * at[std::min(i, j)] * (1 - at[std::max(i, j)]) / n;
    return std::sqrt(variance);
  }
};

ThreeQuantiles three_quantiles(std::span<const double> sorted, double p) {
  ThreeQuantiles q{p, 0, 0, 0, {}, static_cast<double>(sorted.size())};
  size_t k = 0;
  for (const auto& [at, value] : {std::pair{p, &q.low}, {0.5, &q.middle}, {1 - p, &q.high}}) {
    *value = quantile_of_sorted(sorted, at);
    // Over two standard errors of the level, one on each side.
    const double step = std::sqrt(at * (1 - at) / q.n), from = std::max(at - step, 0.0), to = std::min(at + step, 1.0);
    q.slope[k++] = (quantile_of_sorted(sorted, to) - quantile_of_sorted(sorted, from)) / (to - from);
  }
  return q;
}

}  // namespace

const char* skew_verdict_name(SkewVerdict verdict) {
  switch (verdict) {
    case SkewVerdict::symmetric: return "alike";
    case SkewVerdict::above: return "heavier above";
    case SkewVerdict::below: return "heavier below";
    default: return "too small to tell";
  }
}

Skewness find_skewness(std::span<const double> sorted, const TailChoice& above, const TailChoice& below, double level,
                       double chance) {
  Skewness out;
  const auto n = static_cast<double>(sorted.size());
  if (static_cast<int64_t>(sorted.size()) < kFewestRows) {
    out.sentence = fmt::format("too small to tell: {} rows, at least {} are needed", sorted.size(), kFewestRows);
    return out;
  }
  const double z = normal_quantile(0.5 + level / 2);
  const ThreeQuantiles body = three_quantiles(sorted, 0.125);
  const double range = body.high - body.low;
  if (range > 0) {
    out.body = (body.high + body.low - 2 * body.middle) / range;
    const double error = body.standard_error({(1 + out.body) / range, -2 / range, (1 - out.body) / range});
    out.body_interval = {std::max(out.body - z * error, -1.0), std::min(out.body + z * error, 1.0)};
  }
  out.share = std::clamp(kFewestBeyond / n, kTailShare, 0.25);
  const ThreeQuantiles tail = three_quantiles(sorted, out.share);
  const double up = tail.high - tail.middle, down = tail.middle - tail.low;
  const double error = up > 0 && down > 0 ? tail.standard_error({1 / down, -1 / up - 1 / down, 1 / up}) : 0;
  if (!(error > 0)) {
    out.sentence = "too small to tell: too many of the values are equal";
    return out;
  }
  const double log_ratio = std::log(up / down);
  out.ratio = up / down;
  out.ratio_interval = {std::exp(log_ratio - z * error), std::exp(log_ratio + z * error)};
  const double by_ratio = two_sided_chance(log_ratio / error);
  double by_index = 1;
  if (above.k > 0 && below.k > 0) {
    const auto half = [](const TailChoice& c) { return (c.gamma_interval.upper - c.gamma_interval.lower) / 2; };
    const double both = std::hypot(half(above), half(below));
    out.gamma_difference = above.gamma - below.gamma;
    out.gamma_interval = {out.gamma_difference - both, out.gamma_difference + both};
    if (both > 0) by_index = two_sided_chance(z * out.gamma_difference / both);
  }
  // Of two tests the better one, paid for.
  out.p_value = std::min(1.0, 2 * std::min(by_ratio, by_index));
  const bool upward = by_ratio <= by_index ? log_ratio > 0 : out.gamma_difference > 0;
  out.verdict = out.p_value >= chance ? SkewVerdict::symmetric : upward ? SkewVerdict::above : SkewVerdict::below;
  const std::string figures = fmt::format(
      "a share of {:.2g} lies beyond distances whose ratio, above over below, is {:.3g} ({:.3g} to {:.3g}); gamma "
      "differs by {:+.2g} "
      "({:+.2g} to {:+.2g}); p = {:.2g}",
      out.share, out.ratio, out.ratio_interval.lower, out.ratio_interval.upper, out.gamma_difference,
      out.gamma_interval.lower, out.gamma_interval.upper, out.p_value);
  out.sentence = out.skewed() ? fmt::format("skewed, {}: {}", skew_verdict_name(out.verdict), figures)
                              : fmt::format("no sign that the tails differ: {}", figures);
  return out;
}

}  // namespace htfm
