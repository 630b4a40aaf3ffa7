// Vector code of the optimiser: one pass over all parameters.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

/// One AdamW step with EMA: the coefficients of a step, corrections for the bias of the moments included.
struct AdamStep {
  float gradient_scale;  ///< of clipping
  float beta1, beta2;
  float step_size;        ///< lr / (1 - beta1^t)
  float root_correction;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon;
  float lr;  ///< times decay[i]: decoupled weight decay
  float ema;
};

struct OptimiserKernels {
  /// Sum of squares in double, in fixed order.
  double (*square_sum)(int64_t n, const float* x);
  void (*adamw_ema)(int64_t n, const AdamStep& step, const float* gradient, const float* decay, float* p, float* m,
                    float* v, float* ema);
};
HTFM_DECLARE_KERNELS(OptimiserKernels)

}  // namespace htfm
