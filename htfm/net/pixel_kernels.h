// The fused operations of an image network on one sample, CPU side. Pixels are rows of channels; vectors run over
// channels, so that sums over pixels need no shuffles.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

/// Rows of channels, `stride` floats apart; data null for none.
struct PixelRows {
  const float* data = nullptr;
  int64_t stride = 0;
};

/// One value a channel each.
struct ChannelNorm {
  const float *centre, *slope, *offset;
};

struct PixelKernels {
  /// out = scale (y + bias + more); bias and more may be missing.
  void (*add)(int64_t pixels, int64_t channels, PixelRows y, const float* bias, PixelRows more, float scale, float* out,
              int64_t out_stride);
  /// Sums over pixels of x - centre, of its square where `square`; centre may be null.
  void (*sums)(int64_t pixels, int64_t channels, PixelRows x, const float* centre, bool square, double* out);
  /// out = act(slope (x - centre) + offset), dense.
  void (*activate)(int64_t pixels, int64_t channels, PixelRows x, const ChannelNorm& norm, bool silu, float* out);
  /// dz = dy act'(slope (x - centre) + offset), dense, and the sums over pixels of dz and of dz (x - centre).
  void (*activate_backward)(int64_t pixels, int64_t channels, PixelRows x, const ChannelNorm& norm, bool silu,
                            const float* dy, float* dz, double* plain, double* weighted);
  /// out = scale (slope dz + bend (x - centre) + constant + first + second), and its sums over pixels; `first` and
  /// `second` may be missing.
  void (*combine)(int64_t pixels, int64_t channels, PixelRows dz, PixelRows x, const ChannelNorm& norm,
                  const float* bend, const float* constant, PixelRows first, PixelRows second, float scale, float* out,
                  int64_t out_stride, double* sums);
  /// out = sum of weight[k] row[k] over `count` rows of channels.
  void (*mix)(int64_t channels, int64_t count, const float* const* row, const float* weight, float* out);
};
HTFM_DECLARE_KERNELS(PixelKernels)

}  // namespace htfm
