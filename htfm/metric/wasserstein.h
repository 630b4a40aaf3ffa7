// Wasserstein-1 distances: of all coordinates pooled to one sample, and averaged over random directions.
#pragma once

#include <cstdint>
#include <span>

#include "htfm/base/api.h"
#include "htfm/stat/points.h"

namespace htfm HTFM_PUBLIC {

/// Exact W1 of two sorted samples, sizes may differ: the area between the quantile functions.
double w1_sorted(std::span<const double> a, std::span<const double> b);

/// Exact W1 of the coordinates of all points, taken as two one-dimensional samples. The sets may differ in size, and
/// even in dimension.
double w1_pooled(const at::Tensor& real, const at::Tensor& fake);
double w1_pooled(const Points& real, const Points& fake);

struct SlicedOptions {
  int64_t directions = 128;
  uint64_t seed = 0;
};

struct SlicedScore {
  double value = 0;           // mean over the directions
  double standard_error = 0;  // of that mean, from the choice of directions
};

/// Mean W1 of the projections on directions drawn uniformly from the sphere.
SlicedScore w1_sliced(const at::Tensor& real, const at::Tensor& fake, const SlicedOptions& options = {});
SlicedScore w1_sliced(const Points& real, const Points& fake, const SlicedOptions& options = {});

}  // namespace htfm
