// Vectors of floats and the sigmoid, for *_kernels.cpp files: everything here is compiled anew for each instruction set.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace htfm {
namespace {

/// Vectors of L floats; kLanes is what the instruction set has.
template <int L>
struct Lanes {
  typedef float Float __attribute__((vector_size(L * 4)));
  typedef float Unaligned __attribute__((vector_size(L * 4), aligned(4)));
  typedef int32_t Int __attribute__((vector_size(L * 4)));
};
inline constexpr int kLanes = kVectorBytes / 4;
using Vec = Lanes<kLanes>::Float;
using VecInt = Lanes<kLanes>::Int;

template <int L>
[[gnu::always_inline]] inline typename Lanes<L>::Float load_lanes(const float* p) {
  return *reinterpret_cast<const typename Lanes<L>::Unaligned*>(p);
}
template <int L>
[[gnu::always_inline]] inline void store_lanes(float* p, typename Lanes<L>::Float v) {
  *reinterpret_cast<typename Lanes<L>::Unaligned*>(p) = v;
}
[[gnu::always_inline]] inline Vec load(const float* p) { return load_lanes<kLanes>(p); }
[[gnu::always_inline]] inline void store(float* p, Vec v) { store_lanes<kLanes>(p, v); }
[[gnu::always_inline]] inline Vec splat(float x) { return x - Vec{}; }

/// 2^y, relative error below 2e-7 and twice the rounding of y; 0 below -127, infinity above 128.
template <int L>
[[gnu::always_inline]] inline typename Lanes<L>::Float exp2_lanes(typename Lanes<L>::Float y) {
  using V = typename Lanes<L>::Float;
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
  if constexpr (L == 16) {
    const V k = (V)_mm512_roundscale_ps((__m512)y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return (V)_mm512_scalef_ps((__m512)mantissa(y - k), (__m512)k);  // right for infinite k too
  }
#endif
  const V below = y < 128.0f ? y : 128.0f - V{};
  y = below > -127.0f ? below : -127.0f - V{};
  const V shifted = y + 12582912.0f;  // 1.5 * 2^23: the whole part stands in the last bits
  return mantissa(y - (shifted - 12582912.0f)) * (V)(((typename Lanes<L>::Int)shifted - 0x4b400000 + 127) << 23);
}

/// 1 / (1 + exp(-x)), absolute error below 2e-7. The division costs little: it has a unit of its own.
template <int L>
[[gnu::always_inline]] inline typename Lanes<L>::Float sigmoid_lanes(typename Lanes<L>::Float x) {
  return 1.0f / (exp2_lanes<L>(x * -1.44269504f) + 1.0f);
}
[[gnu::always_inline]] inline Vec sigmoid(Vec x) { return sigmoid_lanes<kLanes>(x); }

}  // namespace
}  // namespace htfm
