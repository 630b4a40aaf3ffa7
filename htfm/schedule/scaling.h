// The schedule and the network's coefficients at one time, as plain numbers: what kernels and the rest share.
#pragma once

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The schedule at one time: values and derivatives in t.
struct Coefficients {
  double alpha, beta, dalpha, dbeta;
};

/// Coefficients of the network at one time and clock.
struct Scaling {
  double skip = 0, in = 1, out = 1;
};

/// With x_1 of scale s_d and x_0 of scale s_0 = sqrt(2A): c_skip x is the best linear guess of the velocity from x,
/// c_out the deviation of what is left, c_in the inverse deviation of x. Always inlined, since kernels are compiled
/// for several instruction sets.
[[gnu::always_inline]] inline Scaling clock_scaling(const Coefficients& c, double data_scale, double source_scale) {
  // In units of the larger scale, so that a huge clock does not overflow when squared.
  const double unit = data_scale < source_scale ? source_scale : data_scale;
  const double d = data_scale / unit, s = source_scale / unit;
  const double variance = c.alpha * c.alpha * d * d + c.beta * c.beta * s * s, deviation = __builtin_sqrt(variance);
  return {(c.alpha * c.dalpha * d * d + c.beta * c.dbeta * s * s) / variance, 1 / (unit * deviation),
          unit * d * s * __builtin_fabs(c.dalpha * c.beta - c.alpha * c.dbeta) / deviation};
}

}  // namespace htfm
