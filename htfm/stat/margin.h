// The law of one column, as a quantile function: linear between order statistics, with a generalised Pareto law beyond
// a threshold on each side that has a tail. Values that occur often keep their share; values that are far beyond all
// others are a part of their own, and the law of the others is as if they were not there.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/score_law.h"
#include "htfm/stat/stray_law.h"

namespace htfm HTFM_PUBLIC {

/// The law beyond a threshold: P(distance from it > y) = share (1 + shape y / scale)^(-1/shape).
struct MarginTail {
  double share = 0;  ///< beyond the threshold; 0: the side has no tail, and ends where the data do
  double from = 0, scale = 1, shape = 0;
  int64_t exceedances = 0;

  bool there() const { return share > 0; }
  /// Whether the law has a mean.
  bool has_mean() const { return !there() || shape < 1; }
  /// The mean distance of what lies beyond the place p < share.
  double mean_excess(double p) const;
  /// The distance from the threshold that is exceeded with probability p < share, and back.
  double excess(double p) const;
  double probability(double excess) const;
};

/// Between the outermost value and a bound: the distance from the bound falls like a power of the level.
struct MarginEnd {
  double bound = 0, power = 0;  ///< 0: there is none, and the law ends with the data

  bool there() const { return power > 0; }
};

struct MarginOptions {
  bool tail_below = true, tail_above = true;  ///< whether a side may have a tail
  double least = -1e308, most = 1e308;        ///< where the law ends, if a side has none
  size_t strays_below = 0, strays_above = 0;  ///< values at the ends that are far beyond all others
  double step = 0;                            ///< of the lattice whose cells the values are spread over
  double clumps_below = 1, clumps_above = 1;  ///< values of a side's tail that say the same, on average (clump_size)
  bool fine_end = false;  ///< knots become denser towards the upper end, for millions of values without a tail there
};

class Margin {
 public:
  /// Of ascending values, two of which differ. Each tail begins where a generalised Pareto law fits (choose_threshold);
  /// both sides share one shape unless the data tell the two apart: that takes a third of the error out of far
  /// quantiles of symmetric laws (doc/joint-extremes.md).
  static Margin fit(std::span<const double> sorted, const MarginOptions& options = {});

  /// Of ascending values whose sides are known to have a law: order statistics in the body, then quantile(p, above),
  /// the value beyond which the share p lies on a side, and very far out a generalised Pareto law of the shape that
  /// goes on from there.
  static Margin with_law(std::span<const double> sorted, double shape,
                         const std::function<double(double p, bool above)>& quantile);

  /// Whether it was not fitted.
  bool empty() const { return value_.empty(); }
  /// The value at a place.
  double value(const TailPlace& place) const;
  /// The mean of all values at places beyond p on a side: (1/p) times the integral of the values there, p in (0, 1/2].
  /// Infinite where the tail has no mean.
  double mean_beyond(double p, bool above) const;
  /// The place of a value; among those of a value that is an atom, where `v` in (0,1) says.
  TailPlace place(double value, double v) const;

  /// The values that occur often enough to keep their share.
  std::vector<double> repeated() const;

  /// The law of other rows (ascending) of the same column: its tails begin where these do, with these shapes and
  /// scales, and hold the share of the rows that lies there.
  Margin redrawn(std::span<const double> sorted, const MarginTail& below, const MarginTail& above) const;

  /// Of the others, where some values are far beyond them.
  const MarginTail& below() const { return below_; }
  const MarginTail& above() const { return above_; }
  /// Whether some values are far beyond all others; those of a side, the share of those others, and whether a value is
  /// none of them.
  bool has_strays() const { return strays_below_.there() || strays_above_.there(); }
  const StrayLaw& strays(bool above) const { return above ? strays_above_ : strays_below_; }
  double share_of_others() const { return 1 - strays_below_.share() - strays_above_.share(); }
  bool is_of_others(double x) const { return !strays_below_.holds(x) && !strays_above_.holds(x); }

  /// As numbers of a checkpoint, and back.
  std::vector<double> numbers() const;
  static Margin from_numbers(std::span<const double> numbers);

 private:
  static Margin of_others(std::span<const double> sorted, const MarginOptions& options);
  void add_knots(std::span<const double> sorted, size_t first, size_t last, bool fine_end = false);
  void add_strays(StrayLaw below, StrayLaw above);
  void add_stray_numbers(std::vector<double>& out) const;
  static std::span<const double> take_stray_numbers(std::span<const double>& numbers);
  void read_strays(std::span<const double> numbers);
  std::span<const double> others_of(std::span<const double> sorted) const;
  Margin redrawn_others(std::span<const double> sorted, const MarginTail& below, const MarginTail& above) const;
  double value_of_others(const TailPlace& place) const;
  TailPlace place_of_others(double value, double v) const;
  double mean_of_others_beyond(double p, bool above) const;
  // The place in the law of the others, which ends where the strays begin, of a place in the whole law; and back.
  TailPlace to_others(const TailPlace& place) const;
  TailPlace from_others(const TailPlace& place) const;
  double cut(bool above) const { return above ? cut_above_ : cut_below_; }
  double kept() const { return (1 - cut_below_ - cut_above_) / share_of_others(); }

  std::vector<double> level_, value_;  // knots, both ascending, levels strictly
  MarginTail below_, above_;
  MarginEnd least_, most_;  // of sides without a tail
  StrayLaw strays_below_, strays_above_;
  double cut_below_ = 0, cut_above_ = 0;  // shares of the law of the others beyond where the strays begin
};

}  // namespace htfm
