// SIMD vectors of doubles or floats for kernel files. Included by *_kernels.cpp only: the unnamed namespace keeps each
// instruction set's version to itself.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define HTFM_INLINE inline __attribute__((always_inline))
#define HTFM_INLINE_LAMBDA __attribute__((always_inline))

namespace htfm {
namespace {

/// How many T a register of the instruction set holds.
template <class T>
inline constexpr int kLanesOf = kVectorBytes / static_cast<int>(sizeof(T));

template <class T, int N>
struct VectorType {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
  typedef T unaligned __attribute__((vector_size(N * sizeof(T)), aligned(sizeof(T))));  // in memory
};
/// N values of type T; a whole register where N is left out.
template <class T, int N = kLanesOf<T>>
using Vector = typename VectorType<T, N>::type;

// By type, not by memcpy: the compiler then knows that a store changes no pointer or size that a loop reads.
template <int N, class T>
HTFM_INLINE Vector<T, N> load_lanes(const T* from) {
  return *reinterpret_cast<const typename VectorType<T, N>::unaligned*>(from);
}
template <int N, class T>
HTFM_INLINE void store_lanes(T* to, Vector<T, N> v) {
  *reinterpret_cast<typename VectorType<T, N>::unaligned*>(to) = v;
}
template <class T>
HTFM_INLINE Vector<T> load(const T* from) {
  return load_lanes<kLanesOf<T>>(from);
}
HTFM_INLINE void store(double* to, Vector<double> v) { store_lanes<kLanesOf<double>>(to, v); }
HTFM_INLINE void store(float* to, Vector<float> v) { store_lanes<kLanesOf<float>>(to, v); }
/// x in every lane.
template <class T>
HTFM_INLINE Vector<T> splat(T x) {
  return x - Vector<T>{};
}

// Lanes of doubles: min and max as the instructions have them, and masks with one bit a lane.
inline constexpr int kAllLanes = (1 << kLanesOf<double>)-1;
#if defined(__AVX512F__)
HTFM_INLINE Vector<double> min(Vector<double> a, Vector<double> b) { return _mm512_min_pd(a, b); }
HTFM_INLINE Vector<double> max(Vector<double> a, Vector<double> b) { return _mm512_max_pd(a, b); }
HTFM_INLINE int lanes_less(Vector<double> a, Vector<double> b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
HTFM_INLINE int lanes_less_equal(Vector<double> a, Vector<double> b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
#elif defined(__AVX2__)
HTFM_INLINE Vector<double> min(Vector<double> a, Vector<double> b) { return _mm256_min_pd(a, b); }
HTFM_INLINE Vector<double> max(Vector<double> a, Vector<double> b) { return _mm256_max_pd(a, b); }
HTFM_INLINE int lanes_less(Vector<double> a, Vector<double> b) {
  return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ));
}
HTFM_INLINE int lanes_less_equal(Vector<double> a, Vector<double> b) {
  return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LE_OQ));
}
#elif defined(__SSE2__)
HTFM_INLINE Vector<double> min(Vector<double> a, Vector<double> b) { return _mm_min_pd(a, b); }
HTFM_INLINE Vector<double> max(Vector<double> a, Vector<double> b) { return _mm_max_pd(a, b); }
HTFM_INLINE int lanes_less(Vector<double> a, Vector<double> b) { return _mm_movemask_pd(_mm_cmplt_pd(a, b)); }
HTFM_INLINE int lanes_less_equal(Vector<double> a, Vector<double> b) { return _mm_movemask_pd(_mm_cmple_pd(a, b)); }
#else
HTFM_INLINE Vector<double> min(Vector<double> a, Vector<double> b) { return a < b ? a : b; }
HTFM_INLINE Vector<double> max(Vector<double> a, Vector<double> b) { return a > b ? a : b; }
HTFM_INLINE int lanes_less(Vector<double> a, Vector<double> b) {
  int mask = 0;
  for (int i = 0; i < kLanesOf<double>; ++i) mask |= (a[i] < b[i]) << i;
  return mask;
}
HTFM_INLINE int lanes_less_equal(Vector<double> a, Vector<double> b) {
  int mask = 0;
  for (int i = 0; i < kLanesOf<double>; ++i) mask |= (a[i] <= b[i]) << i;
  return mask;
}
#endif

/// Calls f with the constants Begin..End-1: indices known to the compiler keep small arrays in registers.
template <int I>
struct Constant {
  constexpr operator int() const { return I; }
};
template <int Begin, int End, class F>
HTFM_INLINE void unroll(const F& f) {
  if constexpr (Begin < End) {
    f(Constant<Begin>{});
    unroll<Begin + 1, End>(f);
  }
}

// 0..N-1 as a pack; std::integer_sequence is a template of the standard library, which kernel files do without.
template <int... I>
struct Ints {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
  using type = Ints<I...>;
};

template <int Step, class T, int... I>
HTFM_INLINE void swap_blocks_of(Vector<T>& a, Vector<T>& b, Ints<I...>) {
  constexpr int n = sizeof...(I);
  const Vector<T> low = __builtin_shufflevector(a, b, ((I & Step) ? I - Step + n : I)...);
  const Vector<T> high = __builtin_shufflevector(a, b, ((I & Step) ? I + n : I + Step)...);
  a = low;
  b = high;
}
/// Rows a and b, Step apart in a square of vectors, exchange the blocks of Step values on the wrong side of the
/// diagonal.
template <class T, int Step>
HTFM_INLINE void swap_blocks(Vector<T>& a, Vector<T>& b) {
  swap_blocks_of<Step, T>(a, b, typename Count<kLanesOf<T>>::type{});
}

/// Transposes a square of as many vectors as they have lanes.
template <class T>
HTFM_INLINE void transpose_square(Vector<T>* rows) {
  constexpr int n = kLanesOf<T>;
  unroll<0, 4>([&](auto stage) HTFM_INLINE_LAMBDA {
    constexpr int step = 1 << stage;
    if constexpr (step < n) {
      unroll<0, n>([&](auto i) HTFM_INLINE_LAMBDA {
        constexpr int row = i;
        if constexpr ((row & step) == 0) swap_blocks<T, step>(rows[row], rows[row + step]);
      });
    }
  });
}

}  // namespace
}  // namespace htfm
