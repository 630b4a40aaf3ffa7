// Rows as a mixture of clusters whose law is one family of a clock: elliptical Student-t or stable laws of one index.
// Where it fits all rows, all of them say how heavy the tail is, and not only the few in it.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "htfm/base/quantile_table.h"
#include "htfm/base/random.h"
#include "htfm/clock/radial_law.h"

namespace htfm {

struct Cluster {
  double share = 1;
  std::vector<double> centre;  ///< dim
  std::vector<double> root;    ///< dim x dim, lower triangular: scatter = root root'
};

struct ClusterLaw {
  RadialFamily family = RadialFamily::student;
  double index = 1;
  std::vector<Cluster> clusters;
  double log_likelihood = 0;
  double log_likelihood_of_other = 0;  ///< of the family that was not taken
  double distance = 0;                 ///< Anderson and Darling's, of the rows' distances from their clusters' centres
  bool even = false;                   ///< the farthest rows lie to all sides of their clusters alike

  int64_t dim() const { return static_cast<int64_t>(clusters.front().centre.size()); }
  bool fits() const;
  /// "9 clusters of a stable law of index 1.79".
  std::string text() const;
  /// The law of the distance of a row from a point.
  QuantileTable distances_from(const double* point) const;
};

/// Fits clusters to n x dim rows (float32 or float64) by expectation and maximisation: their number by Bayes's
/// information criterion from the density peaks of the rows, family and index by the likelihood. None where there are
/// fewer than 2,000 rows or more than 8 columns.
std::optional<ClusterLaw> fit_cluster_law(const at::Tensor& rows, Key key = Key(0));

}  // namespace htfm
