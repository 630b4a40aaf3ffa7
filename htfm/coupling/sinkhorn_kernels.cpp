#include "htfm/coupling/sinkhorn_kernels.h"

#include "htfm/base/math.h"

namespace htfm {
namespace {

constexpr int kWide = 64;  // sums side by side: the same order on every instruction set

[[gnu::always_inline]] inline float lesser(float a, float b) { return a < b ? a : b; }

void cost(int64_t n, int64_t dim, const float* x, const float* y, int64_t stride, double p, float* out) {
  for (int64_t j = 0; j < n; ++j) out[j] = (y[j] - x[0]) * (y[j] - x[0]);
  for (int64_t d = 1; d < dim; ++d)
    for (int64_t j = 0; j < n; ++j) out[j] += (y[d * stride + j] - x[d]) * (y[d * stride + j] - x[d]);
  if (p == 2) return;
  if (p == 1) {
    for (int64_t j = 0; j < n; ++j) out[j] = __builtin_sqrtf(out[j]);
  } else if (p == 1.5) {
    for (int64_t j = 0; j < n; ++j) {
      const float r = __builtin_sqrtf(out[j]);
      out[j] = r * __builtin_sqrtf(r);
    }
  } else {
    for (int64_t j = 0; j < n; ++j) {
      const double square = out[j] > 1e-30f ? static_cast<double>(out[j]) : 1e-30;
      out[j] = static_cast<float>(exp_double(0.5 * p * log_positive(square)));
    }
  }
}

float least(int64_t n, const float* c, const float* potential) {
  float lane[kWide];
  for (float& l : lane) l = __builtin_inff();
  int64_t j = 0;
  for (; j + kWide <= n; j += kWide)
    for (int i = 0; i < kWide; ++i) lane[i] = lesser(c[j + i] - potential[j + i], lane[i]);
  for (; j < n; ++j) lane[0] = lesser(c[j] - potential[j], lane[0]);
  float all = lane[0];
  for (int i = 1; i < kWide; ++i) all = lesser(lane[i], all);
  return all;
}

float weights(int64_t n, const float* c, const float* potential, float offset, float rate, float* out) {
  float lane[kWide] = {};
  int64_t j = 0;
  if (out) {
    for (int64_t k = 0; k < n; ++k) out[k] = exp_float((potential[k] + offset - c[k]) * rate);
    for (; j + kWide <= n; j += kWide)
      for (int i = 0; i < kWide; ++i) lane[i] += out[j + i];
    for (; j < n; ++j) lane[0] += out[j];
  } else {
    for (; j + kWide <= n; j += kWide)
      for (int i = 0; i < kWide; ++i) lane[i] += exp_float((potential[j + i] + offset - c[j + i]) * rate);
    for (; j < n; ++j) lane[0] += exp_float((potential[j] + offset - c[j]) * rate);
  }
  float all = 0;
  for (const float l : lane) all += l;
  return all;
}

void add_weights(int64_t n, const float* c, const float* potential, float offset, float rate, float* sum) {
  for (int64_t j = 0; j < n; ++j) sum[j] += exp_float((potential[j] + offset - c[j]) * rate);
}

void lower(int64_t n, const float* c, float offset, float* least_so_far) {
  for (int64_t j = 0; j < n; ++j) least_so_far[j] = lesser(c[j] - offset, least_so_far[j]);
}

}  // namespace

HTFM_DEFINE_KERNELS(SinkhornKernels, &cost, &least, &weights, &add_weights, &lower)

}  // namespace htfm
