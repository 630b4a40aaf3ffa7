// One side of a column brought to another tail index, as the theory of multivariate extremes brings all margins to one
// law before it looks at their joint tail: up to a threshold nothing changes, and beyond it a generalised Pareto law
// becomes one of the wanted index.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The map of a side's distances y from the centre. Its slope at the threshold is 1, and it grows everywhere.
struct TailLevel {
  double from = std::numeric_limits<double>::infinity();  ///< the threshold; infinite: the side is left as it is
  double scale = 1, shape = 0;                            ///< of the law of the excesses
  double target = 0;                                      ///< its shape after the map, positive: 1 / index
  int64_t exceedances = 0;                                ///< that the law was fitted to

  /// The level of ascending distances (those below the centre may be negative). A side stays as it is where an index as
  /// wanted cannot be told from its own: one in a hundred is levelled by chance.
  static TailLevel find(std::span<const double> sorted, double index);

  bool levels() const { return from < std::numeric_limits<double>::infinity(); }
  double apply(double y) const;
  double invert(double y) const;

  static constexpr int kNumbers = 5;
  std::array<double, kNumbers> numbers() const;
  static TailLevel from_numbers(const double* v);
};

}  // namespace htfm
