// Maximum of a unimodal function of one variable.
#pragma once

#include <cmath>

namespace htfm {

/// The argument in [low, high] with the largest value, by golden sections.
template <class F>
double maximise(F f, double low, double high, double tolerance) {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double a = high - ratio * (high - low), b = low + ratio * (high - low), at_a = f(a), at_b = f(b);
  while (high - low > tolerance) {
    if (at_a > at_b) {
      high = b, b = a, at_b = at_a;
      a = high - ratio * (high - low), at_a = f(a);
    } else {
      low = a, a = b, at_a = at_b;
      b = low + ratio * (high - low), at_b = f(b);
    }
  }
  return (low + high) / 2;
}

}  // namespace htfm
