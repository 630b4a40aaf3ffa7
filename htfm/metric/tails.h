// Tails of the radii of two sets about the centre of the real one: far quantiles, Hill indices and survival curves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/order.h"
#include "htfm/stat/points.h"

namespace htfm HTFM_PUBLIC {

struct TailOptions {
  double tail_fraction = 0.005;  // share of the largest radii that the Hill index looks at
  std::vector<double> levels = {0.99, 0.999, 0.9999};
  int64_t curve_points = 300;  // at most so many points of a survival curve
};

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
