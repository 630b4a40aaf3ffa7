// A mixture of normal laws fitted to weighted points.
#pragma once

#include <span>
#include <vector>

#include "htfm/base/random.h"

namespace htfm {

/// One normal law: mean, and the lower root of its covariance, dim x dim by rows.
struct NormalPart {
  double share = 1;
  std::vector<double> mean, root;
  double log_root = 0;  ///< log of the root's determinant

  /// root^-1 (x - mean), all but the last number of which do not depend on the last of x.
  void whiten(const double* x, double* out) const;
};

/// By expectation and maximisation; as many parts, up to `most`, as the Bayesian information criterion says.
/// Covariances are eigenvalues and directions: those that the points cannot tell from 1, the law that they are compared
/// with, are 1. `points`: n x dim; `weights`: n, how many independent points each stands for.
std::vector<NormalPart> fit_mixture(std::span<const double> points, std::span<const double> weights, int64_t dim,
                                    int64_t most, Key key);

/// The normal law of mean 0 and covariance square I.
NormalPart round_part(int64_t dim, double square);
/// The same law with every eigenvalue of its covariance at least 1.
NormalPart at_least_unit(const NormalPart& part);

}  // namespace htfm
