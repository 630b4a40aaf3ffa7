// What is done to every number of a feature, behind htfm/clock/feature.h.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

struct FeatureKernels {
  /// z becomes sqrt(1 + 2|z|) - 1 with its sign: z where it is small, and its root where it is large.
  void (*squash)(int64_t n, float* z);
};
HTFM_DECLARE_KERNELS(FeatureKernels)

}  // namespace htfm
