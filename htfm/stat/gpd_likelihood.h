// The likelihood of the generalised Pareto law and the searches on it, shared by the fit and the profile intervals.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace htfm::gpd {

/// Excesses that lie close together: how many, their mean and their variance.
struct ExcessBlock {
  double count = 0, mean = 0, variance = 0;
};

/// Excesses over a threshold in units of the largest one: theta = shape / scale > -1.
struct Excesses {
  std::vector<double> y;            ///< ascending
  std::vector<ExcessBlock> blocks;  ///< the same, where they are many; otherwise none
  double unit = 0, mean = 0;

  Excesses(std::span<const double> sorted, int64_t k);
  double count() const { return static_cast<double>(y.size()); }
  /// mean log(1 + theta y) / theta: of one sign and smooth through theta = 0. By blocks the error is below 1e-8.
  double mean_log_over(double theta) const;
  /// Log-likelihood per excess, the scale in units of the largest one.
  double log_likelihood(double shape, double log_scale) const;
  /// The largest one for a shape; `log_scale` is where to begin, and then where it lies.
  double best_for_shape(double shape, double& log_scale) const;
};

/// Where a function that has one maximum on [a, b] takes it: Brent's golden section with parabolas.
double maximise(const std::function<double(double)>& f, double a, double b, double tolerance);

/// Where a function that goes from below to above zero on [a, b] crosses it.
double bisect(const std::function<double(double)>& f, double a, double b, double tolerance);

inline constexpr double kLargestShape = 10;

}  // namespace htfm::gpd
