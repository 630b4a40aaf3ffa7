// The inner loop of the maximum mean discrepancy: sums of Gaussian kernels over pairs of blocked points (blocks.h).
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

struct MmdKernels {
  /// Sum over points x of one block and points y of blocks [begin, end) of e + e^4 + e^16 + ..., `scales` terms, with
  /// e = exp(-rate |x - y|^2). Each term is the Gaussian kernel of half the bandwidth of the one before.
  double (*sum)(const double* x, const double* y, int64_t begin, int64_t end, int64_t dim, double rate, int scales);
};
HTFM_DECLARE_KERNELS(MmdKernels)

}  // namespace htfm
