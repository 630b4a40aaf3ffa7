// A test of fit of the multivariate Student-t law. Where it fits, nu is estimated from all rows, not only from the few
// in the tail.
#pragma once

#include <ATen/core/Tensor.h>

#include "htfm/base/random.h"
#include "htfm/stat/estimators.h"
#include "htfm/stat/student_t.h"

namespace htfm {

struct StudentCheck {
  StudentT law;
  Interval freedom;    ///< 95 % profile likelihood interval of nu
  double p_value = 0;  ///< of the distances from the location under the law
  bool even = false;   ///< the farthest rows lie to all sides alike
  bool fits() const { return p_value >= 0.1 && even; }
};

/// Fits a Student-t law to rows n x dim (float32 or float64) and tests the law of the Mahalanobis distances: under it
/// delta / (nu + delta) has a beta law. The test is Anderson and Darling's, its p-value from draws of the fitted law
/// whose scale and freedom are fitted again. The directions of the farthest tenth are tested at 1 % by their mean
/// (Rayleigh), their second moments (Bingham) and the fourth powers of their coordinates: losses on one side, or
/// columns that are large one at a time, are no Student-t law however well their distances fit.
StudentCheck check_student_t(const at::Tensor& rows, Key key = Key(0));

/// Distribution function of the beta law, by the continued fraction of the incomplete beta function.
double beta_distribution(double x, double a, double b);

}  // namespace htfm
