// Value at risk, expected shortfall and return levels of one tail by its generalised Pareto fit, as riskmeasures of the
// R package evir and return.level of extRemes give them.
#pragma once

#include <span>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/bootstrap.h"
#include "htfm/tail/diagnosis.h"

namespace htfm HTFM_PUBLIC {

/// One level of a loss. Values are in the units of the data; beyond means above for losses that are large values and
/// below for those that are small ones.
struct RiskMeasure {
  double p = 0;     ///< a loss stays on this side of the quantile with probability p
  Scored quantile;  ///< value at risk
  Scored sfall;     ///< expected shortfall: the mean beyond the quantile; infinite where the law has no mean
};

/// The measures of a tail at levels p in (0, 1), with profile likelihood intervals. NaN where the level lies so far
/// inside that the tail's values do not reach it.
std::vector<RiskMeasure> risk_measures(const TailReport& tail, std::span<const double> p, double interval = 0.95);

/// The same at the levels 1 - 1/period: what is exceeded once in so many rows.
std::vector<RiskMeasure> return_levels(const TailReport& tail, std::span<const double> periods, double interval = 0.95);

/// The level that is exceeded once in `period` rows; InputError unless that is more than 1.
double level_of_period(double period);
/// And back, whole where it is as good as whole.
double period_of_level(double p);

}  // namespace htfm
