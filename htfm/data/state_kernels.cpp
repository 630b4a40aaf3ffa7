// Compiled without fused multiplications (cmake/Modules.cmake): the same bits with every instruction set.
#include "htfm/data/state_kernels.h"

#include <math.h>

namespace htfm {
namespace {

constexpr int64_t kWidth = Polygons::kWidth;

// Where a number lies between knots: the piece, and which part of it lies below; beyond the ends at the ends.
struct Place {
  Place(const float* knots, int64_t pieces, float x) {
    int below = 0;
    for (int64_t k = 1; k < Polygons::kMost; ++k) below += knots[k] <= x;
    piece = below < pieces ? below : pieces - 1;
    part = (x - knots[piece]) / (knots[piece + 1] - knots[piece]);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
  }
  int64_t piece;
  float part;
};

void add_rows(const float* const* tables, const int64_t* const* states, int64_t count, int64_t n, float* z) {
  for (int64_t i = 0; i < n; ++i, z += kWidth) {
    float sum[kWidth];
    for (int64_t u = 0; u < kWidth; ++u) sum[u] = z[u];
    for (int64_t j = 0; j < count; ++j) {
      const float* row = tables[j] + states[j][i] * kWidth;
      for (int64_t u = 0; u < kWidth; ++u) sum[u] += row[u];
    }
    for (int64_t u = 0; u < kWidth; ++u) z[u] = sum[u];
  }
}

void add_polygons(const Polygons& p, const float* values, const float* x, int64_t n, float* z) {
  for (int64_t i = 0; i < n; ++i, x += p.numbers, z += kWidth) {
    const float* of_number = values;
    float sum[kWidth];
    for (int64_t u = 0; u < kWidth; ++u) sum[u] = z[u];
    for (int64_t j = 0; j < p.numbers; ++j) {
      if (p.pieces[j] == 0) continue;
      const Place at(p.knots + j * (Polygons::kMost + 1), p.pieces[j], x[j]);
      const float *low = of_number + at.piece * kWidth, *high = low + kWidth;
      for (int64_t u = 0; u < kWidth; ++u) sum[u] += low[u] + at.part * (high[u] - low[u]);
      of_number += (p.pieces[j] + 1) * kWidth;
    }
    for (int64_t u = 0; u < kWidth; ++u) z[u] = sum[u];
  }
}

void polygon_gradient(const Polygons& p, const float* x, const float* gradient, int64_t n, float* values) {
  for (int64_t i = 0; i < n; ++i, x += p.numbers, gradient += kWidth) {
    float* of_number = values;
    for (int64_t j = 0; j < p.numbers; ++j) {
      if (p.pieces[j] == 0) continue;
      const Place at(p.knots + j * (Polygons::kMost + 1), p.pieces[j], x[j]);
      float *low = of_number + at.piece * kWidth, *high = low + kWidth;
      const float rest = 1 - at.part;
      for (int64_t u = 0; u < kWidth; ++u) high[u] += at.part * gradient[u], low[u] += rest * gradient[u];
      of_number += (p.pieces[j] + 1) * kWidth;
    }
  }
}

void adam(const AdamStep& s, int64_t n, const float* __restrict gradient, float* __restrict first,
          float* __restrict second, float* __restrict weights, float* __restrict average) {
  for (int64_t i = 0; i < n; ++i) {
    first[i] += 0.1F * (gradient[i] - first[i]);
    second[i] += 0.001F * (gradient[i] * gradient[i] - second[i]);
    weights[i] = weights[i] * s.shrink - s.rate * first[i] / (sqrtf(second[i] * s.second_scale) + 1e-8F);
    average[i] = weights[i] + s.keep * (average[i] - weights[i]);
  }
}

}  // namespace

HTFM_DEFINE_KERNELS(StateKernels, &add_rows, &add_polygons, &polygon_gradient, &adam)

}  // namespace htfm
