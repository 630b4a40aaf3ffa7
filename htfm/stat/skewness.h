// Whether a column is skewed, and its tails: measures that exist however heavy the tails are.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "htfm/base/api.h"
#include "htfm/stat/threshold.h"

namespace htfm HTFM_PUBLIC {

enum class SkewVerdict { symmetric, above, below, unclear };
const char* skew_verdict_name(SkewVerdict verdict);

/// The two sides of one column, compared. Distances are from the median.
struct Skewness {
  std::string name;        ///< of the column
  double body = 0;         ///< octile skewness (Hinkley): ((q_7/8 - m) - (m - q_1/8)) / (q_7/8 - q_1/8), in [-1, 1]
  Interval body_interval;  ///< of the stated level, as all intervals here
  double share = 0;        ///< of the rows beyond the distances that are compared, on each side
  double ratio = 1;        ///< distance that this share exceeds above, over that below
  Interval ratio_interval;
  double gamma_difference = 0;  ///< extreme value index above minus that below
  Interval gamma_interval;
  double p_value = 1;  ///< of tails that are alike: ratio 1 and the same index, both tested
  SkewVerdict verdict = SkewVerdict::unclear;
  std::string sentence;

  bool skewed() const { return verdict == SkewVerdict::above || verdict == SkewVerdict::below; }
};

/// Compares the sides of ascending values. `above`, `below`: the thresholds chosen for their distances from the median.
/// `chance`: how often a symmetric column may be called skewed.
Skewness find_skewness(std::span<const double> sorted, const TailChoice& above, const TailChoice& below, double level,
                       double chance);

}  // namespace htfm
