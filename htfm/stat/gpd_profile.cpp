// Intervals of the generalised Pareto law by the profile likelihood: asymmetric, and right for short tails too.
#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/stat/estimators.h"
#include "htfm/stat/gpd_likelihood.h"

namespace htfm {
namespace {

double top_of(const GpdFit& fit, const gpd::Excesses& e) { return fit.log_likelihood / e.count() + std::log(e.unit); }

/// Half the squared normal quantile per excess: what the log-likelihood may lose inside an interval.
double slack(const gpd::Excesses& e, double level) {
  const double z = normal_quantile(0.5 + level / 2);
  return z * z / (2 * e.count());
}

/// -log of p as a share of the exceedances.
double log_ratio(const GpdFit& fit, double p) {
  return std::log(static_cast<double>(fit.exceedances) / (static_cast<double>(fit.n) * p));
}

/// The excess at exp(-l), in units of the scale.
double growth(double shape, double l) {
  const double x = shape * l;
  return std::abs(x) < 1e-8 ? l * (1 + x / 2) : std::expm1(x) / shape;
}

/// The values that the likelihood ratio does not reject of a figure whose excess is the scale times units(shape).
template <class Units>
Interval excess_interval(std::span<const double> sorted, const GpdFit& fit, double value, double highest_shape,
                         double level, const Units& units) {
  const double centre = value - fit.threshold;
  if (!(centre > 0)) return {kNan, kNan};
  const gpd::Excesses e(sorted, fit.exceedances);
  const double lowest_value = top_of(fit, e) - slack(e, level);
  // The laws that have the figure at a given excess: the scale follows from the shape.
  const auto best = [&](double log_excess) {
    const auto along = [&](double shape) { return e.log_likelihood(shape, log_excess - std::log(units(shape))); };
    const double shape = gpd::maximise(along, kSmallestShape, highest_shape, 1e-6);
    return along(shape) - lowest_value;
  };
  const double middle = std::log(centre / e.unit);
  double lower = middle, upper = middle, step = 0.1;
  do lower -= step *= 1.5;
  while (lower > middle - 60 && best(lower) > 0);
  const double a = gpd::bisect(best, lower, lower + step, 1e-5);
  step = 0.1;
  do upper += step *= 1.5;
  while (upper < middle + 60 && best(upper) > 0);
  const double b = gpd::bisect([&](double x) { return -best(x); }, upper - step, upper, 1e-5);
  return {fit.threshold + e.unit * std::exp(a), fit.threshold + e.unit * std::exp(b)};
}

}  // namespace

double gpd_signed_deviance(std::span<const double> sorted, const GpdFit& fit, double shape) {
  if (std::isnan(fit.shape)) return kNan;
  const gpd::Excesses e(sorted, fit.exceedances);
  double log_scale = std::log(fit.scale / e.unit);
  const double lost = e.count() * (top_of(fit, e) - e.best_for_shape(shape, log_scale));
  return std::copysign(2 * std::max(lost, 0.0), fit.shape - shape);
}

Interval gpd_profile_interval(std::span<const double> sorted, const GpdFit& fit, double level) {
  if (std::isnan(fit.shape)) return {kNan, kNan};
  const gpd::Excesses e(sorted, fit.exceedances);
  const double lowest_value = top_of(fit, e) - slack(e, level), at_fit = std::log(fit.scale / e.unit);
  double log_scale = at_fit;
  const auto inside = [&](double shape) {
    return e.best_for_shape(shape, log_scale) - lowest_value;
  };  // >= 0 in the interval
  const double step = (1 + fit.shape) / std::sqrt(e.count());
  double lower = fit.shape, upper = fit.shape;
  do lower -= step;
  while (lower > kSmallestShape && inside(lower) > 0);
  lower = std::max(lower, kSmallestShape);
  if (inside(lower) < 0) lower = gpd::bisect(inside, lower, std::min(lower + step, fit.shape), 1e-5);
  log_scale = at_fit;
  do upper += step;
  while (upper < 2 * gpd::kLargestShape && inside(upper) > 0);
  upper = gpd::bisect([&](double shape) { return -inside(shape); }, upper - step, upper, 1e-5);
  return {lower, upper};
}

Interval gpd_quantile_interval(std::span<const double> sorted, const GpdFit& fit, double p, double level) {
  if (std::isnan(fit.shape)) return {kNan, kNan};
  const double l = log_ratio(fit, p);
  return excess_interval(sorted, fit, fit.quantile(p), gpd::kLargestShape, level,
                         [l](double shape) { return growth(shape, l); });
}

Interval gpd_shortfall_interval(std::span<const double> sorted, const GpdFit& fit, double p, double level) {
  constexpr double kMean = 1 - 1e-6, kInfinite = std::numeric_limits<double>::infinity();
  if (std::isnan(fit.shape)) return {kNan, kNan};
  const double l = std::max(log_ratio(fit, p), 0.0);
  if (fit.shape >= kMean) return {fit.quantile(p), kInfinite};
  const Interval found = excess_interval(sorted, fit, fit.shortfall(p), kMean, level,
                                         [l](double shape) { return (growth(shape, l) + 1) / (1 - shape); });
  return {found.lower, gpd_profile_interval(sorted, fit, level).upper >= 1 ? kInfinite : found.upper};
}

}  // namespace htfm
