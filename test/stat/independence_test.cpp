// The test of independence: its size under independence, its power, and the groups that it leaves.
#include "htfm/stat/independence.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

namespace htfm {
namespace {

// Ranks of two columns with a normal copula of correlation rho; with a common random size where `sized`.
struct Columns {
  Columns(Key key, int64_t n, double rho, bool sized = false) : rows(at::empty({n, 2}, at::kDouble)) {
    std::vector<double> z(static_cast<size_t>(3 * n));
    fill_normal(key, 0, 3 * n, z.data());
    double* x = rows.mutable_data_ptr<double>();
    for (int64_t i = 0; i < n; ++i) {
      const double size = sized ? std::exp(z[static_cast<size_t>(3 * i + 2)]) : 1;
      x[2 * i] = size * z[static_cast<size_t>(3 * i)];
      x[2 * i + 1] =
          size * (rho * z[static_cast<size_t>(3 * i)] + std::sqrt(1 - rho * rho) * z[static_cast<size_t>(3 * i + 1)]);
    }
  }
  bool apart(Key key) const { return independent_groups(rows, key).size() == 2; }
  at::Tensor rows;
};

double share_apart(double rho, bool sized, int64_t n = 1000) {
  int apart = 0;
  constexpr int kTables = 200;
  for (int k = 0; k < kTables; ++k)
    apart += Columns(Key(5).child(static_cast<uint64_t>(k)), n, rho, sized).apart(Key(static_cast<uint64_t>(k)));
  return static_cast<double>(apart) / kTables;
}

TEST(Independence, IsFoundWhereItIs) {
  // Three tests at 1 %.
  EXPECT_GT(share_apart(0, false), 0.94);
}

TEST(Independence, IsNotFoundWhereColumnsDepend) {
  EXPECT_LT(share_apart(0.12, false), 0.25);  // whose chi(0.99) is 0.01 above that of independence
  EXPECT_EQ(share_apart(0, true), 0);         // extremes together, signs apart
}

TEST(Independence, IsNotLookedForInFewRows) { EXPECT_EQ(share_apart(0, false, 999), 0); }

TEST(Independence, GroupsAreChained) {
  const Columns first(Key(1), 2000, 0.8), second(Key(2), 2000, 0.8);
  at::Tensor rows = at::empty({2000, 4}, at::kDouble);
  rows.select(1, 0).copy_(first.rows.select(1, 0)), rows.select(1, 2).copy_(first.rows.select(1, 1));
  rows.select(1, 1).copy_(second.rows.select(1, 0)), rows.select(1, 3).copy_(second.rows.select(1, 1));
  const std::vector<std::vector<int64_t>> expected{{0, 2}, {1, 3}};
  EXPECT_EQ(independent_groups(rows, Key(3)), expected);
}

}  // namespace
}  // namespace htfm
