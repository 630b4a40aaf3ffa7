// The figures of a risk report from samples.
#pragma once

#include <vector>

#include "htfm/risk/risk.h"
#include "htfm/stat/margin.h"

namespace htfm {

/// Fewer samples than these beyond a level say nothing of it.
inline constexpr double kFewestBeyond = 20;

/// Samples of the losses, and the laws of those that are known exactly.
struct LossSamples {
  std::vector<std::vector<double>> values;         ///< one vector a loss, in the units of the data
  std::vector<Margin> laws;                        ///< one a column
  std::vector<const ColumnTransform*> exact;       ///< one a loss: rounds the values of a law that is exact; else null
  std::vector<bool> endless_above, endless_below;  ///< one a loss: its tail has no mean
  double fewest = kFewestBeyond;                   ///< beyond a level, or nothing is said of it
};

/// Fills the values of every figure; the report has its losses, levels, pairs and stress tables laid out.
void measure(RiskReport& report, const LossSamples& samples);

/// Which pairs of columns to list: those that are beyond the second level together most often, in the columns' order.
std::vector<std::pair<int64_t, int64_t>> strongest_pairs(const RiskReport& report, const LossSamples& samples,
                                                         int64_t columns, int64_t most);

/// P(second beyond its p-quantile | first beyond) of two columns of training rows, with Wilson's interval.
Scored conditional_of_rows(const std::vector<double>& first, bool first_high, const std::vector<double>& second,
                           bool second_high, double p, double interval);

}  // namespace htfm
