// The exact assignment problem: pairs the rows of a batch so that the sum of their costs is as small as it can be.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

inline constexpr double kLargestPower = 16;  ///< of distances as costs

/// The column that goes with each row of an n x n matrix of costs, and the prices that prove it: row + column price is
/// at most the cost everywhere, and equal to it on the pairs.
struct Assignment {
  std::vector<int64_t> column;
  std::vector<double> row_price, column_price;
};

/// The cheapest assignment. Exact up to the rounding of doubles, and the same whatever the number of threads.
Assignment assign_costs(int64_t n, const double* cost);
/// The same for the costs ||x1_i - x0_j||^p, 1 <= p <= 16: rows are those of x1, columns those of x0. Both n x dim,
/// row-major. Rounding is relative to the largest cost: with a high power and far points little is left for near ones.
Assignment assign_points(int64_t n, const double* x0, const double* x1, int64_t dim, double p);
/// The row of x0 that goes with each row of x1 in the cheapest pairing: a permutation.
std::vector<int64_t> assign(int64_t n, const double* x0, const double* x1, int64_t dim, double p);

}  // namespace htfm
