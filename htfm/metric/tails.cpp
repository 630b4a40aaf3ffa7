#include "htfm/metric/tails.h"

#include <limits>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/sort.h"

namespace htfm {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TailSide describe(std::vector<double> values, const TailOptions& options) {
  sort_values(values);
  TailSide side;
  const auto n = static_cast<double>(values.size());
  side.hill = hill_index(values, static_cast<int64_t>(options.tail_fraction * n));
  for (const double level : options.levels) side.quantiles.push_back(n * (1 - level) < 1 - 1e-9 ? kNan : quantile_of_sorted(values, level));
  side.curve = survival_curve(values, options.curve_points);
  return side;
}

}  // namespace

std::vector<double> coordinate_medians(const Points& points) {
  std::vector<double> center(static_cast<size_t>(points.dim));
  parallel_for(points.dim, [&](int64_t d) {
    std::vector<double> values(static_cast<size_t>(points.n));
    for (int64_t i = 0; i < points.n; ++i) values[static_cast<size_t>(i)] = points.row(i)[d];
    const auto upper = values.begin() + points.n / 2;
    std::nth_element(values.begin(), upper, values.end());
    center[static_cast<size_t>(d)] = points.n % 2 ? *upper : std::midpoint(*std::max_element(values.begin(), upper), *upper);
  });
  return center;
}

std::vector<double> distances_from(const Points& points, const std::vector<double>& center) {
  std::vector<double> out(static_cast<size_t>(points.n));
  for (int64_t i = 0; i < points.n; ++i) {
    const double* row = points.row(i);
    double squares = 0;
    for (size_t d = 0; d < center.size(); ++d) squares += (row[d] - center[d]) * (row[d] - center[d]);
    out[static_cast<size_t>(i)] = std::sqrt(squares);
  }
  return out;
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

TailScore tails(const Points& real, const Points& fake, const TailOptions& options) {
  check_same_dimension(real, fake, "tails");
  if (!(options.tail_fraction > 0 && options.tail_fraction < 1))
    throw InputError("[tails] expected a tail fraction in (0, 1), got {}", options.tail_fraction);
  for (const double level : options.levels)
    if (!(level > 0 && level < 1)) throw InputError("[tails] expected quantile levels in (0, 1), got {}", level);
  TailScore score;
  score.center = coordinate_medians(real);
  score.levels = options.levels;
  score.real = describe(distances_from(real, score.center), options);
  score.fake = describe(distances_from(fake, score.center), options);
  for (size_t i = 0; i < options.levels.size(); ++i) score.log_ratio.push_back(std::log(score.fake.quantiles[i] / score.real.quantiles[i]));
  return score;
}

TailScore tails(const at::Tensor& real, const at::Tensor& fake, const TailOptions& options) {
  return tails(to_points(real, "tails: real"), to_points(fake, "tails: fake"), options);
}

}  // namespace htfm
