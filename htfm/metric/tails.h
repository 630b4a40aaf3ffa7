// Tail figures: radii about the centre of the real set, their far quantiles, Hill indices and survival curves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "htfm/metric/points.h"

namespace htfm {

struct TailOptions {
  double tail_fraction = 0.005;  // share of the largest radii that the Hill index looks at
  std::vector<double> levels = {0.99, 0.999, 0.9999};
  int64_t curve_points = 300;  // at most so many points of a survival curve
};

struct HillIndex {
  double index = 0;           // NaN where the tail is too short: fewer than 2 points, or no spread
  double standard_error = 0;  // index / sqrt(points), as for an exact power law
  int64_t points = 0;
};

/// Hill's estimate of the tail index from the largest `points` of ascending positive values, relative to the next one.
HillIndex hill_index(std::span<const double> sorted, int64_t points);

/// Quantile of ascending values, linear between order statistics.
double quantile_of_sorted(std::span<const double> sorted, double level);

/// Share of the values that are at least as large, at up to `points` order statistics evenly spaced on the log of their rank.
struct SurvivalCurve {
  std::vector<double> value;     // ascending
  std::vector<double> survival;  // of n values: from about 1 down to 1/n
};
SurvivalCurve survival_curve(std::span<const double> sorted, int64_t points);

/// Coordinate-wise median, the centre that tails are seen from.
std::vector<double> coordinate_medians(const Points& points);

/// Distances of the points from a centre.
std::vector<double> distances_from(const Points& points, const std::vector<double>& center);

struct TailSide {
  HillIndex hill;
  std::vector<double> quantiles;  // one a level; NaN where fewer than one point lies beyond
  SurvivalCurve curve;
};

struct TailScore {
  std::vector<double> center;  // coordinate-wise median of the real set
  std::vector<double> levels;
  std::vector<double> log_ratio;  // log(q_fake / q_real), one a level
  TailSide real, fake;
};

/// Compares the tails of the radii of two sets.
TailScore tails(const at::Tensor& real, const at::Tensor& fake, const TailOptions& options = {});
TailScore tails(const Points& real, const Points& fake, const TailOptions& options = {});

}  // namespace htfm
