// The radius of a Student-t source and the clock given the radius, both in closed form: V | r is inverse gamma again.
#pragma once

#include <vector>

#include "htfm/base/random.h"

namespace htfm {

class StudentRadius {
 public:
  /// |x_0| for x_0 = sqrt(V) z in dimension dim, V ~ InvGamma(nu/2, nu/2).
  StudentRadius(double nu, int64_t dim);
  /// The radius at level u in (0,1), by quadrature of its density: to a relative error below 1e-5 for 1 - u down to
  /// 1e-12.
  double quantile(double u) const;
  /// P(|x_0| > r).
  double survival(double r) const;
  /// Draws of V given the radii: V | r ~ InvGamma((nu + dim)/2, (nu + r^2)/2).
  std::vector<double> draw_slopes(Key key, const std::vector<double>& radius) const;

 private:
  double nu_;
  int64_t dim_;
  std::vector<double> log_radius_, log_below_, log_above_;  // grid, and the logarithms of P(R < r), P(R > r)
};

}  // namespace htfm
