// The fused operations of a network on a tile of samples, CPU side.
//
// A tile holds kTile samples feature-major: value c of sample r stands at [c * kTile + r]. Vectors run over samples, so
// that norms over channels need no shuffles, and a whole network's intermediates stay in the second-level cache.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

inline constexpr int64_t kTile = 64;
inline constexpr int64_t kMaxGroupSize = 64;  ///< channels a group of a norm may have
inline constexpr float kNormEpsilon = 1e-5f;  ///< added to a group's variance

/// What normalise_modulate_silu works on: y = silu(z), z = (1 + scale) (gamma xhat + beta) + shift, xhat the group norm
/// of x.
struct NormArgs {
  int64_t channels, groups;
  const float* x;
  const float* gamma;
  const float* beta;
  const float* modulation;           ///< tile of 2 * channels rows, scale then shift; null for none
  const float* modulation_constant;  ///< 2 * channels values added to it for every sample; null for none
  float* statistics;                 ///< tile of 2 * groups rows: mean and 1/deviation, written forward, read backward
};

struct TileKernels {
  /// C = start + A B + bias, with A(m,k) = a[m * a_row + k * a_col], one of a_row and a_col 1, B and C row-major, n a
  /// multiple of the vector length. start is laid out like C and may be C; it and bias may be null.
  void (*gemm)(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_col, const float* b,
               int64_t ldb, float* c, int64_t ldc, const float* bias, const float* start);
  /// out(i,j) += sum over the tile of a_i b_j: a weight gradient where the inner size is no multiple of the vector
  /// length.
  void (*add_inner_products)(int64_t rows, int64_t cols, const float* a, const float* b, float* out);
  /// out_i += sum over the tile of a_i.
  void (*add_row_sums)(int64_t rows, const float* a, float* out);
  /// Tile of `rows` rows to sample-major with leading size ld.
  void (*transpose)(int64_t rows, const float* tile, float* out, int64_t ld);
  void (*norm_forward)(const NormArgs& args, float* y);
  /// dx = start + gradient, start may be dx or null; dgamma, dbeta accumulate; dmodulation (tile of 2 * channels rows)
  /// is written when not null.
  void (*norm_backward)(const NormArgs& args, const float* dy, const float* start, float* dx, float* dgamma,
                        float* dbeta, float* dmodulation);
  void (*silu_forward)(int64_t rows, const float* x, float* y);
  /// dx = dy silu'(x).
  void (*silu_backward)(int64_t rows, const float* x, const float* dy, float* dx);
  /// out_i = sum over parts p, in order, of in[p * stride + i], for i < count, a multiple of the vector length.
  void (*sum_parts)(int64_t parts, int64_t stride, int64_t count, const float* in, float* out);
};
HTFM_DECLARE_KERNELS(TileKernels)

}  // namespace htfm
