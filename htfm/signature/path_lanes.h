// Vectors whose lanes are paths: how rows of values fill them and come back. Included by kernel files only.
#pragma once

#include "htfm/base/lanes.h"

namespace htfm {
namespace {

// Columns 0..columns-1 of the rows, one row in each lane: to[column][lane].
template <class T>
void gather_lanes(const T* const* rows, int64_t columns, Vector<T>* to) {
  constexpr int n = kLanesOf<T>;
  if (columns < n) {
    for (int64_t c = 0; c < columns; ++c) {
      for (int lane = 0; lane < n; ++lane) to[c][lane] = rows[lane][c];
    }
    return;
  }
  for (int64_t c = 0; c < columns; c += n) {
    const int64_t from = c + n <= columns ? c : columns - n;  // the last square overlaps the one before
    Vector<T> square[n];
    unroll<0, n>([&](auto i) HTFM_INLINE_LAMBDA { square[i] = load(rows[i] + from); });
    transpose_square<T>(square);
    unroll<0, n>([&](auto i) HTFM_INLINE_LAMBDA { to[from + i] = square[i]; });
  }
}

// The way back, for the first `count` lanes: rows of `columns` values, one after the other.
template <class T>
void scatter_lanes(const Vector<T>* from, int64_t columns, int count, T* rows) {
  constexpr int n = kLanesOf<T>;
  for (int64_t c = 0; c < columns; c += n) {
    const int64_t first = c + n <= columns || columns < n ? c : columns - n;
    const int used = columns < n ? static_cast<int>(columns) : n;
    Vector<T> square[n];
    unroll<0, n>([&](auto i) HTFM_INLINE_LAMBDA { square[i] = i < used ? from[first + i] : Vector<T>{}; });
    transpose_square<T>(square);
    for (int lane = 0; lane < count; ++lane)
      __builtin_memcpy(rows + lane * columns + first, &square[lane], sizeof(T) * used);
  }
}

}  // namespace
}  // namespace htfm
