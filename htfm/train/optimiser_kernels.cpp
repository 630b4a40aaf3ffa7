#include "htfm/train/optimiser_kernels.h"

namespace htfm {
namespace {

double square_sum(int64_t n, const float* x) {
  double sum[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) sum[k] += static_cast<double>(x[i + k]) * x[i + k];
  for (; i < n; ++i) sum[0] += static_cast<double>(x[i]) * x[i];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

void adamw_ema(int64_t n, const AdamStep& s, const float* __restrict gradient, const float* __restrict decay,
               float* __restrict p, float* __restrict m, float* __restrict v, float* __restrict ema) {
  const AdamStep c = s;
  for (int64_t i = 0; i < n; ++i) {
    const float g = gradient[i] * c.gradient_scale;
    const float first = c.beta1 * m[i] + (1 - c.beta1) * g, second = c.beta2 * v[i] + (1 - c.beta2) * g * g;
    m[i] = first;
    v[i] = second;
    const float decayed = p[i] - c.lr * decay[i] * p[i];
    const float next = decayed - c.step_size * first / (__builtin_sqrtf(second) * c.root_correction + c.epsilon);
    p[i] = next;
    ema[i] = c.ema * ema[i] + (1 - c.ema) * next;
  }
}

}  // namespace

HTFM_DEFINE_KERNELS(OptimiserKernels, &square_sum, &adamw_ema)

}  // namespace htfm
