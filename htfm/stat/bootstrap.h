// Bootstrap intervals (rows drawn with replacement) of scores that look at few of the rows; only these are touched.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"

namespace htfm HTFM_PUBLIC {

struct BootstrapOptions {
  int64_t rounds = 200;  // 0: no intervals
  double level = 0.95;
  uint64_t seed = 0;
};

/// Throws an InputError where they make no sense.
void check_options(const BootstrapOptions& options);

/// A score and its interval; NaN where undefined.
struct Scored {
  double value, low, high;
  Scored();
  Scored(double v, double l, double h) : value(v), low(l), high(h) {}
  bool has_interval() const { return low <= high; }
};

/// Percentiles of the rounds' values, those that are not finite left out; none where these are half of them or more.
Scored percentile_interval(double value, std::vector<double> rounds, double level);

/// For scores that are distances: rounds add their noise to that of the sample, so percentiles lie too high. Reaches as
/// far below the value as the upper percentile is above it, but not below 0; too wide rather than too narrow.
Scored reflected_interval(double value, std::vector<double> rounds, double level);

/// The absolute value of a signed score.
Scored magnitude(const Scored& score);

/// Mean of scores and of their ends, as if their errors were the same: never too narrow. Those that are NaN are left
/// out.
Scored mean_of(std::span<const Scored> scores);

/// The number that a Binomial(n, p) variable takes where a standard normal one takes z: exact for small means,
/// Cornish-Fisher above.
int64_t binomial_quantile(int64_t n, double p, double z);

/// The largest rows of resamples of n rows: in each round the ranks, from the top, of its `top` largest in the sample,
/// ascending. Exact: the order statistics of n uniform numbers are partial sums of exponential ones. One object serves
/// every statistic of the rows.
class TopDraws {
 public:
  TopDraws(int64_t n, int64_t top, int64_t rounds, Key key);

  int64_t rounds() const { return rounds_; }
  int64_t top() const { return top_; }
  /// So many of the sample's largest rows appear in some round.
  int64_t reach() const { return reach_; }
  std::span<const int32_t> round(int64_t r) const { return {ranks_.data() + r * top_, static_cast<size_t>(top_)}; }
  /// The sample itself: 0, 1, 2, ...
  std::span<const int32_t> sample() const { return {ranks_.data() + rounds_ * top_, static_cast<size_t>(top_)}; }

 private:
  int64_t top_, rounds_, reach_;
  std::vector<int32_t> ranks_;
};

}  // namespace htfm
