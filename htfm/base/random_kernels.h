// Vector code behind htfm/base/random.h.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

struct RandomKernels {
  /// 52-bit uniforms in the open interval (0,1), elements first..first+n.
  void (*uniform)(uint64_t key, uint64_t first, int64_t n, double* out);
  void (*normal32)(uint64_t key, uint64_t first, int64_t n, float* out);
  void (*normal64)(uint64_t key, uint64_t first, int64_t n, double* out);
  /// Kanter's formula; log_scale is added to log S.
  void (*positive_stable)(uint64_t key, double rho, double log_scale, uint64_t first, int64_t n, double* out);
  /// Logarithms of Gamma(shape, 1) draws.
  void (*log_gamma)(uint64_t key, double shape, uint64_t first, int64_t n, double* out);
};
HTFM_DECLARE_KERNELS(RandomKernels)

}  // namespace htfm
