// Ascending samples of laws whose tails are known.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "htfm/base/random.h"

namespace htfm::test {

/// n values of the quantile function of the upper tail, q(p) at uniform p, ascending.
template <class Quantile>
std::vector<double> sorted_draw(int64_t n, Key key, const Quantile& upper_quantile) {
  std::vector<double> x(static_cast<size_t>(n));
  fill_uniform(key, 0, n, x.data());
  for (double& v : x) v = upper_quantile(v);
  std::sort(x.begin(), x.end());
  return x;
}

inline std::vector<double> sorted_pareto(int64_t n, double index, Key key) {
  return sorted_draw(n, key, [=](double p) { return std::pow(p, -1 / index); });
}

inline std::vector<double> sorted_gpd(int64_t n, double shape, Key key) {
  return sorted_draw(n, key, [=](double p) { return shape == 0 ? -std::log(p) : (std::pow(p, -shape) - 1) / shape; });
}

/// Radii of Gaussian (nu = 0) or Student-t points with nu degrees of freedom.
inline std::vector<double> sorted_radii(int64_t n, int64_t dim, double nu, Key key) {
  std::vector<double> z(static_cast<size_t>(n * dim)), gamma(static_cast<size_t>(n)), r(static_cast<size_t>(n));
  fill_normal(key.child("normal"), 0, n * dim, z.data());
  if (nu > 0) fill_log_gamma_draw(key.child("gamma"), nu / 2, 0, n, gamma.data());
  for (size_t i = 0; i < r.size(); ++i) {
    double squares = 0;
    for (size_t d = 0; d < static_cast<size_t>(dim); ++d)
      squares += z[i * static_cast<size_t>(dim) + d] * z[i * static_cast<size_t>(dim) + d];
    r[i] = std::sqrt(squares) * (nu > 0 ? std::exp(0.5 * (std::log(nu / 2) - gamma[i])) : 1);
  }
  std::sort(r.begin(), r.end());
  return r;
}

/// Radii of isotropic stable points, sqrt(2 S) z with S positive (alpha/2)-stable.
inline std::vector<double> sorted_stable_radii(int64_t n, int64_t dim, double alpha, Key key) {
  std::vector<double> z(static_cast<size_t>(n * dim)), clock(static_cast<size_t>(n)), r(static_cast<size_t>(n));
  fill_normal(key.child("normal"), 0, n * dim, z.data());
  fill_positive_stable(key.child("clock"), alpha / 2, 1, 0, n, clock.data());
  for (size_t i = 0; i < r.size(); ++i) {
    double squares = 0;
    for (size_t d = 0; d < static_cast<size_t>(dim); ++d)
      squares += z[i * static_cast<size_t>(dim) + d] * z[i * static_cast<size_t>(dim) + d];
    r[i] = std::sqrt(2 * clock[i] * squares);
  }
  std::sort(r.begin(), r.end());
  return r;
}

}  // namespace htfm::test
