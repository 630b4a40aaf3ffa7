// Laws and bounds that the statistical tests compare with. Every bound is the two-sided level of 4 standard errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace htfm::test {

/// Kolmogorov's distribution exceeds this with probability 2 exp(-2 c^2) = 6e-5, that of 4 standard errors.
inline constexpr double kKolmogorovBound = 2.28;

/// sqrt(n) times the largest distance between the empirical law of x and a cdf; sorts x.
template <class Cdf>
double kolmogorov_smirnov(std::vector<double>& x, const Cdf& cdf) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double distance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = cdf(x[i]), below = static_cast<double>(i) / n;
    distance = std::max({distance, p - below, below + 1 / n - p});
  }
  return distance * std::sqrt(n);
}

inline double normal_cdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

/// Regularised incomplete beta function by its continued fraction (modified Lentz).
inline double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  const auto away = [](double y) { return std::abs(y) < 1e-300 ? 1e-300 : y; };
  double c = 1, d = 1 / away(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < 1000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d), c = away(1 + even / c), fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d), c = away(1 + odd / c), fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return std::exp(a * std::log(x) + b * std::log1p(-x) + std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b)) *
         fraction / a;
}

/// Student's t with nu degrees of freedom; the tail keeps its relative accuracy.
inline double student_cdf(double nu, double x) {
  const double tail = 0.5 * incomplete_beta(nu / 2, 0.5, nu / (nu + x * x));
  return x < 0 ? tail : 1 - tail;
}

/// Regularised lower incomplete gamma function at exp(log_x).
inline double incomplete_gamma(double a, double log_x) {
  const double x = std::exp(log_x), front = std::exp(a * log_x - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int k = 1; k < 10000 && term > 1e-17 * sum; ++k) sum += term *= x / (a + k);
    return sum * front;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (int k = 1; k < 10000; ++k) {
    const double step = -k * (k - a);
    b += 2, d = 1 / (step * d + b), c = b + step / c, fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return 1 - fraction * front;
}

/// Mean and variance of log G for G ~ Gamma(shape, 1).
inline double digamma(double x) {
  double value = 0;
  for (; x < 10; ++x) value -= 1 / x;
  const double z = 1 / (x * x);
  return value + std::log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z / 240)));
}
inline double trigamma(double x) {
  double value = 0;
  for (; x < 10; ++x) value += 1 / (x * x);
  const double z = 1 / (x * x);
  return value + 1 / x + z / 2 + z / x * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z / 30)));
}

}  // namespace htfm::test
