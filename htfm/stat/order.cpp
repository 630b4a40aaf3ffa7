#include "htfm/stat/order.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"

namespace htfm {

std::string order_text(std::span<const double> values) {
  if (values.empty()) return "none";
  const auto fall = std::is_sorted_until(values.begin(), values.end());
  return fall == values.end() ? fmt::format("from {} to {}", values.front(), values.back())
                              : fmt::format("that fall from {} to {}", *(fall - 1), *fall);
}

HillIndex hill_index(std::span<const double> sorted, int64_t points) {
  HillIndex hill{kNan, kNan, std::max<int64_t>(points, 0)};
  const auto n = static_cast<int64_t>(sorted.size());
  if (points < 2 || points >= n) return hill;
  const double threshold = sorted[static_cast<size_t>(n - points - 1)];
  if (!(threshold > 0)) return hill;
  double sum = 0;
  for (int64_t i = n - points; i < n; ++i) sum += std::log(sorted[static_cast<size_t>(i)] / threshold);
  if (!(sum > 0)) return hill;
  hill.index = static_cast<double>(points) / sum;
  hill.standard_error = hill.index / std::sqrt(static_cast<double>(points));
  return hill;
}

double quantile_of_sorted(std::span<const double> sorted, double level) {
  if (sorted.empty()) throw InputError("[quantile] expected at least one value, got none");
  if (!(level >= 0 && level <= 1)) throw InputError("[quantile] expected a level in [0, 1], got {}", level);
  const double position = level * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

SurvivalCurve survival_curve(std::span<const double> sorted, int64_t points) {
  SurvivalCurve curve;
  const auto n = static_cast<int64_t>(sorted.size());
  int64_t last = n + 1;  // rank from the top
  for (int64_t i = 0; i < points; ++i) {
    const double share = points > 1 ? static_cast<double>(i) / static_cast<double>(points - 1) : 1.0;
    const int64_t rank = std::llround(std::pow(static_cast<double>(n), 1 - share));
    if (rank >= last) continue;
    last = rank;
    curve.value.push_back(sorted[static_cast<size_t>(n - rank)]);
    curve.survival.push_back(static_cast<double>(rank) / static_cast<double>(n));
  }
  return curve;
}

}  // namespace htfm
