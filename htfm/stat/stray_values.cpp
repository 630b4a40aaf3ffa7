#include "htfm/stat/stray_values.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "htfm/stat/estimators.h"

namespace htfm {

namespace {

constexpr size_t kLeastValues = 500, kMostStrays = 5;
constexpr double kShare = 0.02;  // of the values, that the law of the others is fitted to
constexpr size_t kLeastTail = 50, kMostTail = 500, kLeastDifferent = 20;
constexpr size_t kTailOfAStray = 50;  // leaving some out makes the tail of the others look lighter
constexpr double kChance = 1e-5;
constexpr double kErrors = 3;  // standard errors by which the tail may be heavier than its fit

size_t different_values(std::span<const double> sorted) {
  size_t out = sorted.empty() ? 0 : 1;
  for (size_t i = 1; i < sorted.size(); ++i) out += sorted[i] != sorted[i - 1];
  return out;
}

// The logarithm of how many values the tail of `sorted`, its values but the first, leads to expect beyond x: no lighter
// than exponential, and heavier than its fit by what the fit does not know. NaN where there is no fit.
double log_expected_beyond(std::span<const double> sorted, double x) {
  const auto k = static_cast<double>(sorted.size() - 1);
  const GpdFit fit = fit_gpd(sorted, static_cast<int64_t>(sorted.size()) - 1);
  const double least = std::max(fit.shape, 0.0), shape = least + kErrors * (1 + least) / std::sqrt(k);
  return std::log(k) - std::log1p(shape * (x - sorted.front()) / fit.scale) / shape;
}

}  // namespace

StrayValues find_stray_values(std::span<const double> all) {
  const size_t n = all.size();
  if (n < kLeastValues) return {};
  const size_t tail = std::clamp(static_cast<size_t>(kShare * static_cast<double>(n)), kLeastTail, kMostTail);
  const size_t most = std::min(kMostStrays, tail / kTailOfAStray);
  std::vector<double> values(tail + 1 + most);  // the largest, ascending
  std::partial_sort_copy(all.begin(), all.end(), values.rbegin(), values.rend(), std::greater<>());
  size_t strays = 0;
  for (size_t m = 1; m <= most; ++m) {
    const size_t end = values.size() - m;
    const std::span<const double> others = std::span<const double>(values).subspan(end - tail - 1, tail + 1);
    if (different_values(others) < kLeastDifferent) return {};
    const double expected = log_expected_beyond(others, values[end]);
    // At least m of a Poisson number of values: at most expected^m / m!.
    const auto count = static_cast<double>(m);
    const bool apart = values[end] > values[end - 1];  // else they are some of a value that occurs more often
    if (apart && count * expected - std::lgamma(count + 1) < std::log(kChance)) strays = m;
  }
  const auto from = values.end() - static_cast<int64_t>(strays);
  return {{from, values.end()}, from[-1]};
}

}  // namespace htfm
