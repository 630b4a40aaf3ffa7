// The sigmoid of vectors of floats, for *_kernels.cpp files: compiled anew for each instruction set.
#pragma once

#include "htfm/base/lanes.h"

namespace htfm {
namespace {

/// 2^y, relative error below 2e-7 and twice the rounding of y; 0 below -127, infinity above 128.
template <int N>
HTFM_INLINE Vector<float, N> exp2_lanes(Vector<float, N> y) {
  using V = Vector<float, N>;
  // The minimax fit of 2^f of the form 1 + f q(f) on [-1/2, 1/2].
  const auto mantissa = [](V f) {
    V p = 0.0013264727f - V{};
    p = p * f + 0.009671513f;
    p = p * f + 0.055507336f;
    p = p * f + 0.24022242f;
    p = p * f + 0.693147f;
    return p * f + 1.0f;
  };
#if defined(__AVX512F__)
  if constexpr (N == 16) {
    const V k = (V)_mm512_roundscale_ps((__m512)y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return (V)_mm512_scalef_ps((__m512)mantissa(y - k), (__m512)k);  // right for infinite k too
  }
#endif
  const V below = y < 128.0f ? y : 128.0f - V{};
  y = below > -127.0f ? below : -127.0f - V{};
  const V shifted = y + 12582912.0f;  // 1.5 * 2^23: the whole part stands in the last bits
  return mantissa(y - (shifted - 12582912.0f)) * (V)(((Vector<int32_t, N>)shifted - 0x4b400000 + 127) << 23);
}

/// 1 / (1 + exp(-x)), absolute error below 2e-7. The division costs little: it has a unit of its own.
template <int N>
HTFM_INLINE Vector<float, N> sigmoid_lanes(Vector<float, N> x) {
  return 1.0f / (exp2_lanes<N>(x * -1.44269504f) + 1.0f);
}
HTFM_INLINE Vector<float> sigmoid(Vector<float> x) { return sigmoid_lanes<kLanesOf<float>>(x); }

}  // namespace
}  // namespace htfm
