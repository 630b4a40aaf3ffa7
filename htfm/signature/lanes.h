// Vectors whose lanes are paths, and the transposition that fills and empties them. Included by kernel files only.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

#define HTFM_INLINE inline __attribute__((always_inline))
#define HTFM_INLINE_LAMBDA __attribute__((always_inline))

namespace htfm {
namespace {

template <class T>
struct Lanes {
  static constexpr int count = kVectorBytes / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vec = typename Lanes<T>::Vector;

template <class T>
HTFM_INLINE Vec<T> load(const T* from) {
  Vec<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

// Calls f with the constants Begin..End-1: indices known to the compiler keep small arrays in registers.
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

template <int... I>
struct Ints {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
  using type = Ints<I...>;
};

// Swaps the off-diagonal blocks of size S in rows a and b of a matrix.
template <int S, class V, int... I>
HTFM_INLINE void swap_blocks(V& a, V& b, Ints<I...>) {
  constexpr int n = sizeof...(I);
  const V low = __builtin_shufflevector(a, b, ((I & S) ? I - S + n : I)...);
  const V high = __builtin_shufflevector(a, b, ((I & S) ? I + n : I + S)...);
  a = low;
  b = high;
}

// Transposes a square of as many vectors as they have lanes.
template <class T>
HTFM_INLINE void transpose(Vec<T>* rows) {
  constexpr int n = Lanes<T>::count;
  unroll<0, 4>([&](auto stage) HTFM_INLINE_LAMBDA {
    constexpr int s = 1 << stage;
    if constexpr (s < n) {
      unroll<0, n>([&](auto i) HTFM_INLINE_LAMBDA {
        constexpr int row = i;
        if constexpr ((row & s) == 0) swap_blocks<s>(rows[row], rows[row + s], typename Count<n>::type{});
      });
    }
  });
}

// Columns 0..columns-1 of the rows, one row in each lane: to[column][lane].
template <class T>
void gather_lanes(const T* const* rows, int64_t columns, Vec<T>* to) {
  constexpr int n = Lanes<T>::count;
  if (columns < n) {
    for (int64_t c = 0; c < columns; ++c) {
      for (int lane = 0; lane < n; ++lane) to[c][lane] = rows[lane][c];
    }
    return;
  }
  for (int64_t c = 0; c < columns; c += n) {
    const int64_t from = c + n <= columns ? c : columns - n;  // the last square overlaps the one before
    Vec<T> square[n];
    unroll<0, n>([&](auto i) HTFM_INLINE_LAMBDA { square[i] = load(rows[i] + from); });
    transpose<T>(square);
    unroll<0, n>([&](auto i) HTFM_INLINE_LAMBDA { to[from + i] = square[i]; });
  }
}

// The way back, for the first `count` lanes: rows of `columns` values, one after the other.
template <class T>
void scatter_lanes(const Vec<T>* from, int64_t columns, int count, T* rows) {
  constexpr int n = Lanes<T>::count;
  for (int64_t c = 0; c < columns; c += n) {
    const int64_t first = c + n <= columns || columns < n ? c : columns - n;
    const int used = columns < n ? static_cast<int>(columns) : n;
    Vec<T> square[n];
    unroll<0, n>([&](auto i) HTFM_INLINE_LAMBDA { square[i] = i < used ? from[first + i] : Vec<T>{}; });
    transpose<T>(square);
    for (int lane = 0; lane < count; ++lane) __builtin_memcpy(rows + lane * columns + first, &square[lane], sizeof(T) * used);
  }
}

}  // namespace
}  // namespace htfm
