// Clock preconditioning: the velocity is c_skip x + c_out F(c_in x, t, feature), so that for every clock the network F sees
// inputs and targets of order one.
#pragma once

#include "htfm/path/schedule.h"

namespace htfm {

/// Coefficients of the network at one time and clock.
struct Scaling {
  double skip = 0, in = 1, out = 1;
};

/// With x_1 of scale s_d and x_0 of scale s_0 = sqrt(2A): c_skip x is the best linear guess of the velocity from x, c_out the
/// deviation of what is left, c_in the inverse deviation of x.
Scaling clock_scaling(const Coefficients& c, double data_scale, double source_scale);

/// The data scale s_d as a function of the clock's area; constant here.
class DataScale {
 public:
  explicit DataScale(double constant = 1) : constant_(constant) {}
  double at(double /*area*/) const { return constant_; }
  double constant() const { return constant_; }

 private:
  double constant_;
};

/// A robust scale of a data set: median distance from the coordinate-wise median, over that of a standard normal vector.
double robust_scale(std::span<const float> rows, int64_t dim);

}  // namespace htfm
