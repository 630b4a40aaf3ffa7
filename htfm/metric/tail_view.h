// The upper tail of one statistic of the rows (a radius, a side of a column): its figures, and those of bootstrap
// resamples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace htfm {

/// Ranks from the top, ascending: a resample of a view, or the view itself (TopDraws).
using Ranks = std::span<const int32_t>;

class TailView {
 public:
  /// Orders the `top` largest values, and all that are at least `floor`.
  TailView(std::vector<double> values, int64_t top, double floor);

  int64_t size() const { return n_; }
  /// The largest values, descending.
  const std::vector<double>& top() const { return top_; }
  /// How many values are larger than x (or, with `equal`, at least x); x is at least the least of top().
  int64_t above(double x, bool equal = false) const;

  /// As quantile_of_sorted; NaN where fewer than one value lies beyond the level.
  double quantile(Ranks ranks, double level) const;
  /// As hill_index of the largest k.
  double hill(Ranks ranks, int64_t k) const;

 private:
  int64_t n_;
  std::vector<double> top_, log_top_;
};

/// Two views side by side. The fake one must be ordered down to the least ordered value of the real one.
class ViewPair {
 public:
  ViewPair(const TailView& real, const TailView& fake);

  struct Beyond {
    double ks = 0;     // largest distance of the two laws beyond the cut, each given that it is beyond
    double share = 0;  // share of the fake values beyond the cut over that of the real ones
    int64_t real = 0, fake = 0;
  };
  /// Both sets cut at the real one's quantile. NaN where a set has nothing there.
  Beyond beyond(Ranks real, Ranks fake, double level) const;
  /// How many fake values are larger than the largest real one.
  int64_t exceedances(Ranks real, Ranks fake) const;

 private:
  /// Of the first `rank` fake values how many stand in a resample. Resamples that do not reach so far are taken to be
  /// the sample: so many values have no noise to speak of.
  int64_t drawn(Ranks fake, int64_t rank) const;
  bool too_far(Ranks fake, int64_t rank) const;
  const TailView &real_, &fake_;
  std::vector<int64_t> larger_, as_large_;  // fake values larger than, and at least, each of the real top
};

/// P(N >= count) for the number N of m values above the largest of n others of the same law: that the count largest of
/// all are among the m.
double exceedance_probability(int64_t n, int64_t m, int64_t count);

}  // namespace htfm
