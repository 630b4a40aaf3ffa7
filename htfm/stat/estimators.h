// Estimates of the extreme value index gamma = 1 / tail index from the k largest of a sample: Hill, moment and
// generalised Pareto.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct Interval {
  double lower = 0, upper = 0;
  bool contains(double x) const { return lower <= x && x <= upper; }
};

/// Quantile of the standard normal law; `level` in (0, 1).
double normal_quantile(double level);
/// P(|Z| > |z|) of a standard normal Z.
double two_sided_chance(double z);

/// Median and spread of ascending values: the interquartile range over that of a normal law. Where half of them are
/// equal wider quantiles are taken; 0 for a constant.
std::pair<double, double> centre_and_spread(std::span<const double> sorted);

/// Wilson's interval of a share of n, z standard errors wide.
Interval share_interval(double share, double n, double z);

/// An estimate of gamma, and what it says of the tail index 1 / gamma. NaN where the tail is too short or without
/// spread.
struct TailEstimate {
  double gamma = 0, standard_error = 0;
  Interval gamma_interval;
  int64_t exceedances = 0;

  /// 1 / gamma; infinite for gamma <= 0, a tail lighter than any power.
  double index() const;
  /// Delta method: standard error of gamma over gamma squared.
  double index_standard_error() const;
  Interval index_interval() const;
};

/// The interval of 1 / gamma for an interval of gamma: infinite where gamma reaches 0.
Interval index_interval(const Interval& gamma);

/// All of them look at the k largest of ascending values relative to the next one, the threshold; intervals have the
/// stated level. Hill's estimate, for positive gamma alone.
TailEstimate hill_estimate(std::span<const double> sorted, int64_t k, double level = 0.95);
/// Dekkers, Einmahl and de Haan's moment estimate, for any gamma. The threshold must be positive.
TailEstimate moment_estimate(std::span<const double> sorted, int64_t k, double level = 0.95);

/// The generalised Pareto law of the excesses over a threshold, P(Y > y) = (1 + shape y / scale)^(-1/shape), fitted by
/// maximum likelihood.
struct GpdFit {
  double shape = 0, scale = 0, threshold = 0;
  double log_likelihood = 0;
  int64_t exceedances = 0, n = 0;  // of n values in all

  /// Asymptotic (co)variances of shape and scale: (shape, shape), (shape, scale), (scale, scale).
  std::array<double, 3> covariance() const;
  /// gamma = shape with its standard error and the Wald interval.
  TailEstimate estimate(double level = 0.95) const;
  /// Probability that an excess is larger than y, given that there is one.
  double survival(double y) const;
  /// The excess that is exceeded with probability p in (0, 1].
  double excess_quantile(double p) const;
  /// The value that is exceeded with probability p, p < exceedances / n.
  double quantile(double p) const;
  /// The mean of what lies beyond that value; infinite for shapes of 1 and more.
  double shortfall(double p) const;
  /// The interval of the value by the delta method on log(quantile - threshold); gpd_quantile_interval is better and
  /// slower.
  Interval quantile_interval(double p, double level = 0.95) const;
};

inline constexpr double kSmallestShape = -0.5;  // below it the likelihood is not regular

/// Fits the excesses of the k largest of ascending values over the next one; shape in [-0.5, 10]. NaN where k < 5 or
/// they are all equal.
GpdFit fit_gpd(std::span<const double> sorted, int64_t k);

/// The same with a given positive shape: only the scale is fitted.
GpdFit fit_gpd_scale(std::span<const double> sorted, int64_t k, double shape);

/// The shapes that the likelihood ratio does not reject, the scale being fitted to each: asymmetric, and better than
/// Wald's for small k.
Interval gpd_profile_interval(std::span<const double> sorted, const GpdFit& fit, double level = 0.95);

/// The same for the value that is exceeded with probability p.
Interval gpd_quantile_interval(std::span<const double> sorted, const GpdFit& fit, double p, double level = 0.95);

/// The same for the mean of what lies beyond that value, p <= exceedances / n; without an upper end where a law without
/// mean is not rejected.
Interval gpd_shortfall_interval(std::span<const double> sorted, const GpdFit& fit, double p, double level = 0.95);

/// Twice the log-likelihood lost by fixing the shape, with the sign of fit.shape - shape.
double gpd_signed_deviance(std::span<const double> sorted, const GpdFit& fit, double shape);

}  // namespace htfm
