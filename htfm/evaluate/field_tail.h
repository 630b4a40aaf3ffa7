// The upper tail of the fields of a prepared set: heavy, light, or with an end; and values that a product writes again
// and again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "htfm/base/api.h"
#include "htfm/field/field_set.h"
#include "htfm/stat/estimators.h"

namespace htfm HTFM_PUBLIC {

struct FieldTail {
  int64_t fields = 0, exceedances = 0;      ///< fields looked at, and maxima beyond the threshold
  double threshold = 0;                     ///< of the maxima
  double shape = 0;                         ///< of the generalised Pareto law of their excesses; NaN: too few
  Interval interval = {};                   ///< 95 %, profile likelihood, the fields taken as independent
  std::optional<double> end_point = {};     ///< where values end, for a shape whose interval lies below 0
  double largest = 0;                       ///< value
  double cut = 0;                           ///< the 99.9 % quantile of all values
  double repeated = 0, repeated_share = 0;  ///< the value that stands most often beyond the cut, and how often

  /// One sentence: "maxima end at about 160 (shape -0.3, -0.4 to -0.2)".
  std::string text(const std::string& unit = "") const;
};

/// Looks at the training part of a channel. Of a field the maximum alone counts (tail_of_maxima), since neighbouring
/// values belong together.
FieldTail diagnose_field_tail(const FieldSet& set, int64_t channel);

}  // namespace htfm
