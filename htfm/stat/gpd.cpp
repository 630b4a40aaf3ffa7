// Maximum likelihood of the generalised Pareto law. With theta = shape / scale the likelihood is maximal in the shape
// at the mean of log(1 + theta y), which leaves one unknown (Grimshaw 1993).
#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/stat/estimators.h"
#include "htfm/stat/gpd_likelihood.h"

namespace htfm {
namespace {

// The unknown is s = log(1 + theta), theta in units of the largest excess, on the whole line.
constexpr double kLargestLog = 80;

/// Log-likelihood per excess at its best shape, in units of the largest excess: -log(scale) - shape - 1.
double profile(const gpd::Excesses& e, double s) {
  const double theta = std::expm1(s), scale = e.mean_log_over(theta);
  return -std::log(scale) - scale * theta - 1;
}

}  // namespace

GpdFit fit_gpd(std::span<const double> sorted, int64_t k) {
  const auto n = static_cast<int64_t>(sorted.size());
  GpdFit fit{kNan, kNan, kNan, kNan, std::max<int64_t>(k, 0), n};
  if (k < 5 || k >= n) return fit;
  fit.threshold = sorted[static_cast<size_t>(n - k - 1)];
  const gpd::Excesses e(sorted, k);
  if (!(e.unit > 0) || !std::isfinite(e.unit) || sorted.back() == sorted[static_cast<size_t>(n - k)]) return fit;
  const auto shape_at = [&](double s) { return std::expm1(s) * e.mean_log_over(std::expm1(s)); };  // grows with s
  const double lowest = gpd::bisect([&](double s) { return shape_at(s) - kSmallestShape; }, -40, 0, 1e-9);
  const double highest =
      shape_at(kLargestLog) < gpd::kLargestShape
          ? kLargestLog
          : gpd::bisect([&](double s) { return shape_at(s) - gpd::kLargestShape; }, 0, kLargestLog, 1e-6);
  // The profile may have a second maximum at small shapes: a coarse grid finds the right one.
  constexpr int points = 24;
  const auto at = [&](int i) {
    return lowest + (highest - lowest) * std::pow(static_cast<double>(i) / (points - 1), 2);
  };
  int best = 0;
  double value = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < points; ++i)
    if (const double l = profile(e, at(i)); l > value) value = l, best = i;
  const double s = gpd::maximise([&](double x) { return profile(e, x); }, at(std::max(best - 1, 0)),
                                 at(std::min(best + 1, points - 1)), 1e-8);
  const double theta = std::expm1(s), scale = e.mean_log_over(theta);
  fit.shape = theta * scale;
  double log_scale = std::log(scale), best_value = profile(e, s);
  if (fit.shape < kSmallestShape + 1e-4) {  // at the bound the best scale is no longer the profile's
    fit.shape = kSmallestShape;
    best_value = e.best_for_shape(fit.shape, log_scale);
  }
  fit.scale = std::exp(log_scale) * e.unit;
  fit.log_likelihood = e.count() * (best_value - std::log(e.unit));
  return fit;
}

GpdFit fit_gpd_scale(std::span<const double> sorted, int64_t k, double shape) {
  GpdFit fit = fit_gpd(sorted, k);
  if (std::isnan(fit.shape)) return fit;
  const gpd::Excesses e(sorted, k);
  double log_scale = std::log(fit.scale / e.unit);
  fit.log_likelihood = e.count() * (e.best_for_shape(shape, log_scale) - std::log(e.unit));
  fit.shape = shape;
  fit.scale = std::exp(log_scale) * e.unit;
  return fit;
}

std::array<double, 3> GpdFit::covariance() const {
  const auto k = static_cast<double>(exceedances);
  const double one = 1 + std::max(shape, kSmallestShape);
  return {one * one / k, -scale * one / k, 2 * scale * scale * one / k};
}

TailEstimate GpdFit::estimate(double level) const {
  const double error = std::sqrt(covariance()[0]), half = normal_quantile(0.5 + level / 2) * error;
  return {shape, error, {shape - half, shape + half}, exceedances};
}

double GpdFit::survival(double y) const {
  if (!(y > 0)) return 1;
  const double theta = shape / scale;
  if (std::abs(theta * y) < 1e-12) return std::exp(-y / scale);
  return theta * y <= -1 ? 0 : std::exp(-std::log1p(theta * y) / shape);
}

double GpdFit::excess_quantile(double p) const {
  const double l = -std::log(p), x = shape * l;
  return scale * l * (std::abs(x) < 1e-8 ? 1 + x / 2 : std::expm1(x) / x);
}

double GpdFit::quantile(double p) const {
  if (!(p > 0 && p < 1)) throw InputError("[tail quantile] expected a probability in (0, 1), got {}", p);
  return threshold + excess_quantile(p * static_cast<double>(n) / static_cast<double>(exceedances));
}

double GpdFit::shortfall(double p) const {
  const double excess = quantile(p) - threshold;
  if (shape >= 1) return std::numeric_limits<double>::infinity();
  return threshold + (excess + scale) / (1 - shape);
}

Interval GpdFit::quantile_interval(double p, double level) const {
  const double value = quantile(p), excess = value - threshold;
  if (!(excess > 0)) return {kNan, kNan};
  const auto count = static_cast<double>(n), k = static_cast<double>(exceedances);
  const double m = k / (count * p), l = std::log(m), power = std::pow(m, shape);
  // Derivatives of the excess in shape, scale and the share k / n of exceedances.
  const double x = shape * l;
  const double in_shape =
      std::abs(x) < 1e-4 ? scale * l * l * (0.5 + x / 3) : scale * (power * l - (power - 1) / shape) / shape;
  const double in_scale = excess / scale, in_share = scale * power * count / k;
  const std::array<double, 3> c = covariance();
  const double share_variance = k / count * (1 - k / count) / count;
  const double variance = in_shape * in_shape * c[0] + 2 * in_shape * in_scale * c[1] + in_scale * in_scale * c[2] +
                          in_share * in_share * share_variance;
  const double half = normal_quantile(0.5 + level / 2) * std::sqrt(variance) / excess;
  return {threshold + excess * std::exp(-half), threshold + excess * std::exp(half)};
}

}  // namespace htfm
