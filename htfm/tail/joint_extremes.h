// Do columns go to extremes together or alone: chi(u), chi-bar(u) and the coefficient of tail dependence of every pair
// of columns, in each corner.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"
#include "htfm/stat/estimators.h"

namespace htfm HTFM_PUBLIC {

/// together: extremes of one come with extremes of the other however far out one looks; alone: less and less often;
/// unclear: the rows cannot tell.
enum class JointVerdict { together, alone, unclear };
const char* joint_verdict_name(JointVerdict verdict);

struct JointOptions {
  std::vector<double> levels = {0.9, 0.95, 0.99};
  double level = 0.95;        ///< of the intervals
  double tail_share = 0.1;    ///< of the rows that eta looks at, and at most; fewer where the law is not reached
  int64_t most_pairs = 2000;  ///< of more pairs so many are drawn
  uint64_t seed = 0;          ///< of that draw, and of what breaks ties
};

/// One value with its interval.
struct JointFigure {
  double value = 0;
  Interval interval;
};

/// A pair of columns in one corner: each large (above) or small.
struct CornerExtremes {
  bool first_above = true, second_above = true;
  std::vector<JointFigure> chi;  ///< P(second beyond its u-quantile | first beyond), one a level; 1 - u: independent
  std::vector<JointFigure> chi_bar;  ///< 2 log(1 - u) / log P(both beyond) - 1: 1 together, 0 independent, < 0 repelled
  JointFigure eta;                   ///< P(both beyond) falls like (1 - u)^(1/eta): 1 together, 1/2 independent
  int64_t exceedances = 0;           ///< that eta rests on
  JointVerdict verdict = JointVerdict::unclear;
};

struct PairExtremes {
  int64_t first = 0, second = 0;        ///< columns, from 0
  std::vector<CornerExtremes> corners;  ///< both large, both small, first large and second small, the other way round
  /// The corner where extremes come together most.
  const CornerExtremes& strongest() const;
};

struct JointExtremes {
  std::vector<std::string> names;  ///< of the columns
  std::vector<double> levels;
  std::vector<PairExtremes> pairs;
  std::vector<std::vector<int64_t>> groups;  ///< columns whose extremes come together, by chains of pairs; two or more
  std::string sentence;                      ///< the verdict in words

  bool any_together() const { return !groups.empty(); }
};

/// Looks at rows n x d (float32 or float64, finite): every pair of columns that vary, where there are 100 rows or more.
/// Ties are broken at random.
JointExtremes diagnose_joint(const at::Tensor& rows, const std::vector<std::string>& names = {},
                             const JointOptions& options = {});

}  // namespace htfm
