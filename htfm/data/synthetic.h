// Synthetic data sets by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"

namespace htfm HTFM_PUBLIC {

struct SyntheticSpec {
  std::string name = "mixture2d";
  double alpha = 1.5;  ///< mixture2d: stability index of each component, in (0, 2]
  int64_t dim = 2;     ///< student, clusters; the other sets have two dimensions
  double nu = 3;       ///< student, clusters: degrees of freedom
};

struct SyntheticInfo {
  std::string name, summary;
  bool any_dimension;  ///< or two
  /// Row i of n points; the points are a function of the key.
  std::function<void(Key key, const SyntheticSpec& spec, int64_t n, double* rows)> draw;
};

std::span<const SyntheticInfo> synthetic_sets();
/// n x dim points, float64.
at::Tensor draw_synthetic(Key key, const SyntheticSpec& spec, int64_t n);

}  // namespace htfm
