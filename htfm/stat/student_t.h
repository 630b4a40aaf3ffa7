// The multivariate Student-t law fitted by maximum likelihood: the reference model for a heavy-tailed table.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "htfm/base/random.h"

namespace htfm {

struct StudentT {
  double nu = 1;                 ///< degrees of freedom; at kMostFreedom the law is as good as normal
  std::vector<double> location;  ///< dim
  std::vector<double> root;      ///< dim x dim, lower triangular: scatter = root root'
  double log_likelihood = 0;     ///< of the rows it was fitted to
  int64_t rounds = 0;            ///< of the iteration
  bool converged = false;

  static constexpr double kLeastFreedom = 0.1, kMostFreedom = 200;

  int64_t dim() const { return static_cast<int64_t>(location.size()); }
  /// dim x dim, row by row.
  std::vector<double> scatter() const;
  /// (x - location)' scatter^-1 (x - location) of a row.
  double squared_distance(const double* row) const;
  /// root^-1 (row - location) into dim numbers; gives their squared length.
  double whiten(const double* row, double* out) const;
  /// Log-density of a row.
  double log_density(const double* row) const;
  /// n x dim draws, float64; row i depends on the key and i alone.
  at::Tensor sample(Key key, int64_t n) const;
};

/// Fits location, scatter and degrees of freedom to n x dim rows (float64, finite, n > dim) by the ECME iteration of
/// Liu and Rubin: weighted mean and scatter, then the freedom that maximises the likelihood itself. A direction without
/// spread gets a scatter of 1e-8 of the columns' own. More than 50,000 rows are thinned.
StudentT fit_student_t(const at::Tensor& rows);

}  // namespace htfm
