// Figures of the order statistics of a sample: quantiles, Hill's index, the survival curve.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct HillIndex {
  double index = 0;           // NaN where the tail is too short: fewer than 2 points, or no spread
  double standard_error = 0;  // index / sqrt(points), as for an exact power law
  int64_t points = 0;
};

/// Hill's estimate of the tail index from the largest `points` of ascending positive values, relative to the next one.
HillIndex hill_index(std::span<const double> sorted, int64_t points);

/// How values that should ascend do, for a message: "from 0 to 1", or "that fall from 3 to 2".
std::string order_text(std::span<const double> values);

/// Quantile of ascending values, linear between order statistics.
double quantile_of_sorted(std::span<const double> sorted, double level);

/// Share of the values that are at least as large, at up to `points` order statistics evenly spaced on the log of their
/// rank.
struct SurvivalCurve {
  std::vector<double> value;     // ascending
  std::vector<double> survival;  // of n values: from about 1 down to 1/n
};
SurvivalCurve survival_curve(std::span<const double> sorted, int64_t points);

}  // namespace htfm
