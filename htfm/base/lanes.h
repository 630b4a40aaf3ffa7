// Vectors of doubles with one point a lane, for kernel files. Included by *_kernels.cpp only: the unnamed
// namespace keeps each instruction set's version to itself.
#pragma once

#include "htfm/base/dispatch.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace htfm {
namespace {

inline constexpr int kLanes = kVectorBytes / 8;
inline constexpr int kAllLanes = (1 << kLanes) - 1;
using Vec = double __attribute__((vector_size(kVectorBytes)));

inline Vec load(const double* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(double* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
inline Vec splat(double x) { return x - Vec{}; }

#if defined(__AVX512F__)
inline Vec min(Vec a, Vec b) { return _mm512_min_pd(a, b); }
inline Vec max(Vec a, Vec b) { return _mm512_max_pd(a, b); }
inline int lanes_less(Vec a, Vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
inline int lanes_less_equal(Vec a, Vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
#elif defined(__AVX2__)
inline Vec min(Vec a, Vec b) { return _mm256_min_pd(a, b); }
inline Vec max(Vec a, Vec b) { return _mm256_max_pd(a, b); }
inline int lanes_less(Vec a, Vec b) { return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ)); }
inline int lanes_less_equal(Vec a, Vec b) { return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LE_OQ)); }
#elif defined(__SSE2__)
inline Vec min(Vec a, Vec b) { return _mm_min_pd(a, b); }
inline Vec max(Vec a, Vec b) { return _mm_max_pd(a, b); }
inline int lanes_less(Vec a, Vec b) { return _mm_movemask_pd(_mm_cmplt_pd(a, b)); }
inline int lanes_less_equal(Vec a, Vec b) { return _mm_movemask_pd(_mm_cmple_pd(a, b)); }
#else
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline int lanes_less(Vec a, Vec b) {
  int mask = 0;
  for (int i = 0; i < kLanes; ++i) mask |= (a[i] < b[i]) << i;
  return mask;
}
inline int lanes_less_equal(Vec a, Vec b) {
  int mask = 0;
  for (int i = 0; i < kLanes; ++i) mask |= (a[i] <= b[i]) << i;
  return mask;
}
#endif

}  // namespace
}  // namespace htfm
