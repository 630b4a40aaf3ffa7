// Do columns depend on each other: a smooth test of independence by ranks, and the groups that it leaves.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"

namespace htfm HTFM_PUBLIC {

/// How likely independent columns look as dependent as these or more. u, v: the ranks of two columns in (0, 1).
struct IndependenceTest {
  double together = 1;  ///< by the product of the ranks: large with large, or large with small
  double spread = 1;    ///< by the product of their distances from the middle: extremes with extremes
  double any = 1;       ///< by all products of the Legendre polynomials of degree 1 to 4
  double least() const;
};
IndependenceTest test_independence(std::span<const double> u, std::span<const double> v);

/// Ranks of a column of n x d rows (float64) in (0, 1), ties broken by the key.
std::vector<double> random_ranks(const at::Tensor& rows, int64_t column, Key key);

/// Columns of n x d rows (float64, finite) in groups, each ascending: columns of different groups do not depend on each
/// other as far as the rows can tell. Two columns hold together where one of the three tests finds less than `chance`;
/// all do where there are fewer than `fewest` rows, which tell little. Ties are broken by the key.
std::vector<std::vector<int64_t>> independent_groups(const at::Tensor& rows, Key key, double chance = 0.01,
                                                     int64_t fewest = 1000);

}  // namespace htfm
