// Entropic pairing of large batches, where the exact assignment takes too long.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/base/random.h"

namespace htfm {

struct SinkhornOptions {
  double epsilon = 0.05;    ///< strength of the entropy, in parts of the median cost
  double tolerance = 0.03;  ///< mean relative error of the columns' sums at which the iteration ends
  int iterations = 50;      ///< at most so many
};

/// A row of x0 for each row of x1, drawn from the entropic transport plan for the cost ||x0_i - x1_j||^p, 1 <= p <= 2.
/// A permutation, so that both marginals are kept; a function of the key, whatever the number of threads. Both n x dim,
/// row-major.
std::vector<int64_t> sinkhorn_coupling(Key key, int64_t n, const double* x0, const double* x1, int64_t dim, double p,
                                       const SinkhornOptions& options = {});

}  // namespace htfm
