#include "htfm/stat/estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/stat/order.h"

namespace htfm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Interval around(double value, double standard_error, double level) {
  const double half = normal_quantile(0.5 + level / 2) * standard_error;
  return {value - half, value + half};
}

}  // namespace

double two_sided_chance(double z) { return std::erfc(std::abs(z) * M_SQRT1_2); }

double normal_quantile(double level) {
  if (!(level > 0 && level < 1)) throw InputError("[normal_quantile] expected a level in (0, 1), got {}", level);
  // Newton on the log of the smaller tail, which is concave: it converges from any start on the outer side.
  const double tail = std::min(level, 1 - level), target = std::log(tail);
  double x = std::sqrt(-2 * target);
  for (int i = 0; i < 60; ++i) {
    const double q = 0.5 * std::erfc(x * M_SQRT1_2), density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    const double step = (std::log(q) - target) * q / density;
    x += step;
    if (std::abs(step) < 1e-14 * (1 + std::abs(x))) break;
  }
  return level < 0.5 ? -x : x;
}

std::pair<double, double> centre_and_spread(std::span<const double> sorted) {
  const double centre = quantile_of_sorted(sorted, 0.5);
  for (const double share : {0.25, 0.05, 0.01, 0.0}) {
    const double range = quantile_of_sorted(sorted, 1 - share) - quantile_of_sorted(sorted, share);
    const double normal = share > 0 ? 2 * normal_quantile(1 - share) : 8;
    if (range > 0) return {centre, range / normal};
  }
  return {centre, 0};
}

double TailEstimate::index() const { return gamma > 0 ? 1 / gamma : std::isnan(gamma) ? kNan : kInfinity; }

double TailEstimate::index_standard_error() const { return gamma > 0 ? standard_error / (gamma * gamma) : kNan; }

Interval TailEstimate::index_interval() const { return htfm::index_interval(gamma_interval); }

Interval index_interval(const Interval& gamma) {
  const auto inverse = [](double g) { return g > 0 ? 1 / g : std::isnan(g) ? kNan : kInfinity; };
  return {inverse(gamma.upper), inverse(gamma.lower)};
}

TailEstimate hill_estimate(std::span<const double> sorted, int64_t k, double level) {
  const HillIndex hill = hill_index(sorted, k);
  TailEstimate estimate;
  estimate.gamma = 1 / hill.index;
  estimate.standard_error = estimate.gamma / std::sqrt(static_cast<double>(k));
  estimate.gamma_interval = around(estimate.gamma, estimate.standard_error, level);
  estimate.exceedances = hill.points;
  return estimate;
}

TailEstimate moment_estimate(std::span<const double> sorted, int64_t k, double level) {
  TailEstimate estimate{kNan, kNan, {kNan, kNan}, std::max<int64_t>(k, 0)};
  const auto n = static_cast<int64_t>(sorted.size());
  if (k < 3 || k >= n) return estimate;
  const double threshold = sorted[static_cast<size_t>(n - k - 1)];
  if (!(threshold > 0)) return estimate;
  double first = 0, second = 0;
  for (const double x : sorted.last(static_cast<size_t>(k))) {
    const double l = std::log(x / threshold);
    first += l;
    second += l * l;
  }
  const auto count = static_cast<double>(k);
  first /= count;
  second /= count;
  const double spread = 1 - first * first / second;
  if (!(spread > 0)) return estimate;
  const double g = first + 1 - 0.5 / spread;
  // Asymptotic variance (Dekkers, Einmahl, de Haan 1989).
  const double variance =
      g >= 0 ? 1 + g * g : (1 - g) * (1 - g) * (1 - 2 * g) * (1 - g + 6 * g * g) / ((1 - 3 * g) * (1 - 4 * g));
  estimate.gamma = g;
  estimate.standard_error = std::sqrt(variance / count);
  estimate.gamma_interval = around(g, estimate.standard_error, level);
  return estimate;
}

Interval share_interval(double share, double n, double z) {
  const double centre = (share + z * z / (2 * n)) / (1 + z * z / n),
               half = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace htfm
