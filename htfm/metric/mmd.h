// The squared maximum mean discrepancy (Gretton et al. 2012) with a sum of Gaussian kernels.
#pragma once

#include <cstdint>

#include "htfm/base/api.h"
#include "htfm/stat/points.h"

namespace htfm HTFM_PUBLIC {

struct MmdOptions {
  int64_t points = 4096;  // at most so many of each set, drawn at random without replacement
  int octaves = 4;        // bandwidths 2^-octaves ... 2^octaves times the middle one: heavy tails have no single scale
  double bandwidth = 0;   // the middle bandwidth; 0: the median distance between pooled points
  uint64_t seed = 0;
};

struct MmdScore {
  double value = 0;      // unbiased, so it may be below 0 where the laws agree
  double bandwidth = 0;  // the middle one, really used
  int64_t real_points = 0, fake_points = 0;
};

/// Unbiased estimate of the squared discrepancy; the kernels are summed, so that k(x, x) = 2 octaves + 1.
MmdScore mmd(const at::Tensor& real, const at::Tensor& fake, const MmdOptions& options = {});
MmdScore mmd(const Points& real, const Points& fake, const MmdOptions& options = {});

}  // namespace htfm
