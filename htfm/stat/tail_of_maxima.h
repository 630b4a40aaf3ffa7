// The upper tail of maxima of fields or blocks: whether values end, and where.
#pragma once

#include <optional>
#include <span>

#include "htfm/base/api.h"
#include "htfm/stat/estimators.h"

namespace htfm HTFM_PUBLIC {

struct TailOfMaxima {
  GpdFit fit;                      ///< of the largest maxima; its shape is NaN where there are too few, or no spread
  Interval interval = {};          ///< of the shape: 95 %, profile likelihood, the maxima taken as independent
  std::optional<double> end = {};  ///< of the values, where the interval lies below 0
};

/// Fits a generalised Pareto law to the largest tenth of ascending maxima, or to half of that and so on, until a test
/// of fit passes, while 100 of them are left; the best of these fits where none passes. Fewer than 20 in a tenth: none.
/// A shape at the edge of what is fitted has its end too far out: the largest value is nearer, and is taken.
TailOfMaxima tail_of_maxima(std::span<const double> sorted);

}  // namespace htfm
