// Vector code behind htfm/coupling/sinkhorn.h, float32.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

struct SinkhornKernels {
  /// out[j] = ||x - y_j||^p, coordinate d of y_j at y[d * stride + j].
  void (*cost)(int64_t n, int64_t dim, const float* x, const float* y, int64_t stride, double p, float* out);
  /// The least cost[j] - potential[j].
  float (*least)(int64_t n, const float* cost, const float* potential);
  /// out[j] = exp((potential[j] + offset - cost[j]) rate); returns the sum. out may be null.
  float (*weights)(int64_t n, const float* cost, const float* potential, float offset, float rate, float* out);
  /// sum[j] += exp((potential[j] + offset - cost[j]) rate).
  void (*add_weights)(int64_t n, const float* cost, const float* potential, float offset, float rate, float* sum);
  /// least[j] = min(least[j], cost[j] - offset).
  void (*lower)(int64_t n, const float* cost, float offset, float* least);
};
HTFM_DECLARE_KERNELS(SinkhornKernels)

}  // namespace htfm
