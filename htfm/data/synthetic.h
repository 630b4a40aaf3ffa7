// Synthetic 2D data sets by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/random.h"

namespace htfm {

struct SyntheticSpec {
  std::string name = "mixture2d";
  double alpha = 1.5;  ///< mixture2d: stability index of each component, in (0, 2]
};

struct SyntheticInfo {
  std::string name, summary;
  /// Row i of n points; the points are a function of the key.
  std::function<void(Key key, const SyntheticSpec& spec, int64_t n, double* rows)> draw;
};

std::span<const SyntheticInfo> synthetic_sets();
/// n x 2 points, float64.
at::Tensor draw_synthetic(Key key, const SyntheticSpec& spec, int64_t n);

}  // namespace htfm
