#include "htfm/metric/quantile_error.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

namespace htfm {
namespace {

at::Tensor normal(uint64_t seed, int64_t n, int64_t d) {
  at::Tensor x = at::empty({n, d}, at::kDouble);
  fill_normal(Key(seed), 0, x.numel(), x.mutable_data_ptr<double>());
  return x;
}

TEST(QuantileError, ViewsAreColumnsThatVaryAndTheRadius) {
  at::Tensor x = normal(1, 1000, 3);
  for (int64_t i = 0; i < 1000; ++i) x.mutable_data_ptr<double>()[3 * i + 1] = 4;
  const QuantileYardstick y(x, {0.9, 0.99});
  ASSERT_EQ(y.views(), 3);
  EXPECT_EQ(y.column(0), 0);
  EXPECT_EQ(y.column(1), 2);
  EXPECT_EQ(y.column(2), -1);
  EXPECT_EQ(y.quantiles(x), y.real());
  for (const double e : y.errors(y.real())) EXPECT_EQ(e, 0);
}

// Rows stretched by a factor about their medians have every quantile off by its logarithm.
TEST(QuantileError, IsTheLogarithmOfAStretch) {
  const at::Tensor x = normal(2, 5001, 2);
  const QuantileYardstick y(x, {0.95, 0.99, 0.999});
  at::Tensor stretched = x.clone();
  for (int64_t k = 0; k < 2; ++k) {
    const double median = std::get<0>(x.select(1, k).sort()).const_data_ptr<double>()[2500];
    for (int64_t i = 0; i < 5001; ++i) {
      double& v = stretched.mutable_data_ptr<double>()[2 * i + k];
      v = median + 1.5 * (v - median);
    }
  }
  for (const double e : y.errors(y.quantiles(stretched))) EXPECT_NEAR(e, std::log(1.5), 1e-12);
}

// The same law from other rows is not told apart from the truth; a law of half the scale is.
TEST(QuantileError, ComparisonKnowsItsNoise) {
  const QuantileYardstick y(normal(3, 1000, 2), {0.95, 0.99});
  const at::Tensor truth = normal(4, 200000, 2), again = normal(5, 200000, 2), half = truth.mul(0.5);
  const auto scores = y.compare({y.quantiles(truth), y.quantiles(again), y.quantiles(half)}, Key(1));
  // Quantiles of 1,000 rows: the standard error of log q at 0.99 is about 0.04.
  EXPECT_LT(scores[0].error, 0.15);
  EXPECT_GT(scores[0].standard_error, 0.003);
  EXPECT_EQ(scores[0].difference, 0);
  EXPECT_FALSE(scores[0].differs());
  EXPECT_LT(std::abs(scores[1].difference), 0.02);
  EXPECT_TRUE(scores[2].differs());
  EXPECT_LT(scores[2].upper, -0.4);
}

// Bootstrap quantiles have the spread that theory gives: p (1-p) / (n f(q)^2).
TEST(QuantileError, BootstrapSpread) {
  const int64_t n = 4000;
  const QuantileYardstick y(normal(6, n, 1), {0.9});
  // |x| at 0.9: q = 1.645, density 2 phi(q) = 0.2063; far from the truth the error is log(model / q), so its deviation
  // is that of log q.
  std::vector<double> model = y.real();
  for (double& q : model) q *= 10;
  const double expected = std::sqrt(0.09 / static_cast<double>(n)) / 0.2063 / 1.645;
  EXPECT_NEAR(y.compare({model}, Key(2), 2000)[0].standard_error, expected, 0.25 * expected);
}

}  // namespace
}  // namespace htfm
