// The velocity that a path's endpoint asks for, as the tests of schedules compare with it.
#pragma once

#include "htfm/schedule/schedule.h"

namespace htfm::test {

/// The velocity of the path through x that ends at x1 (eq. clock-affine-target).
inline double affine_target(const Coefficients& c, double x, double x1) {
  const double rate = c.dbeta / c.beta;
  return rate * x + (c.dalpha - rate * c.alpha) * x1;
}

}  // namespace htfm::test
