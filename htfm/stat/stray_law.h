// Values of a column so far beyond all others that their tail says nothing of them (htfm/stat/stray_values.h), as a
// part of their own. Each of k among n has the share 1/n and is drawn near itself: the logarithm of the distance from
// the middle of the others has a triangular law around its own. Parts of two values do not meet, so that the quantile
// function has a closed form.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

class StrayLaw {
 public:
  /// Of the `count` values at the upper or lower end of ascending ones, whose others have the middle `centre`. `bound`:
  /// where the column ends. Values that lie within `step` of each other are the same one, and are drawn as it.
  static StrayLaw fit(std::span<const double> sorted, size_t count, bool above, double centre, double bound,
                      double step);

  bool there() const { return share_ > 0; }
  /// The share of all values that the part holds, and how many values it was fitted to.
  double share() const { return share_; }
  size_t count() const { return distance_.size(); }
  /// Its end towards the others.
  double border() const;
  /// Whether a value belongs to it.
  bool holds(double x) const { return there() && (above_ ? x >= border() : x <= border()); }

  /// The value at the place p < share from the outer end, and back; `v` in (0,1) is the place in a value that is drawn
  /// as itself.
  double value(double p) const;
  double place(double x, double v) const;
  /// The integral of value() from 0 to p, at most to the share.
  double sum_beyond(double p) const;

  /// The same values with another share.
  StrayLaw with_share(double share) const;

  void add_numbers(std::vector<double>& out) const;
  /// Takes its numbers from the front; InputError where they are no such law.
  static StrayLaw from_numbers(std::span<const double>& numbers, bool above);

 private:
  double from_centre(double log_distance) const;

  double share_ = 0, centre_ = 0;
  bool above_ = true;
  std::vector<double> distance_, width_;  // logarithms of distances, ascending, and half the widths of their laws
};

}  // namespace htfm
