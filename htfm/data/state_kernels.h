// What the networks of discrete columns spend most of their time with, behind htfm/data/state_net.h.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

/// The polygons of numbers, with values for each hidden unit at their knots.
struct Polygons {
  static constexpr int64_t kWidth = 128;  ///< hidden units
  static constexpr int64_t kMost = 64;    ///< pieces of a number
  int64_t numbers;
  const int64_t* pieces;  ///< of each number; 0: it has none
  const float* knots;     ///< numbers x (kMost + 1), ascending; those after the last one are infinite
};

/// One step of Adam with decay, and of a moving average.
struct AdamStep {
  float rate, second_scale, shrink, keep;
};

struct StateKernels {
  /// z, n x kWidth, plus row states[j][i] of each of the tables.
  void (*add_rows)(const float* const* tables, const int64_t* const* states, int64_t count, int64_t n, float* z);
  /// z, n x kWidth, plus the polygons at x, n x numbers. `values`: of the numbers one after the other, a row of kWidth
  /// for each of their knots.
  void (*add_polygons)(const Polygons& polygons, const float* values, const float* x, int64_t n, float* z);
  /// Adds to `values` the gradient of what add_polygons does, by that of z.
  void (*polygon_gradient)(const Polygons& polygons, const float* x, const float* gradient, int64_t n, float* values);
  void (*adam)(const AdamStep& step, int64_t n, const float* gradient, float* first, float* second, float* weights,
               float* average);
};
HTFM_DECLARE_KERNELS(StateKernels)

}  // namespace htfm
