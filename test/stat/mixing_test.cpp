// The law of the mixing variable: what the data allow to know of it.
#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/stat/mixing_law.h"
#include "test/statistics.h"
#include "test/tail/support.h"

namespace htfm {
namespace {

constexpr int64_t kRows = 32000;

MixingLaw fit(const std::vector<double>& radii, int64_t dim) {
  const TailChoice tail = choose_threshold(radii);
  return fit_mixing_law(radii, dim, tail, tail.sampling.lower > 0);
}

/// log of the value that InvGamma(nu/2, nu/2) exceeds with probability q.
double inverse_gamma_log_quantile(double nu, double q) {
  double lower = -30, upper = 60;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (lower + upper);
    (test::incomplete_gamma(nu / 2, std::log(nu / 2) - middle) > q ? lower : upper) = middle;
  }
  return lower;
}

/// Radii sqrt(V) chi of a fitted law.
std::vector<double> radii_of(const QuantileTable& law, int64_t n, int64_t dim, Key key) {
  std::vector<double> u(static_cast<size_t>(n)), r = test::sorted_radii(n, dim, 0, key);
  fill_uniform(key.child("u"), 0, n, u.data());
  for (size_t i = 0; i < r.size(); ++i) r[i] *= std::exp(0.5 * law.log_upper_quantile(u[i]));
  return r;
}

TEST(MixingLaw, ReproducesTheLawOfTheRadius) {
  // The empirical law is within the Kolmogorov bound of the true one, a law of maximal likelihood as near to the
  // empirical one, and the drawn radii as near to the fitted law again.
  for (const double nu : {1.5, 3.0}) {
    const MixingLaw law = fit(test::sorted_radii(kRows, 2, nu, Key(1)), 2);
    std::vector<double> r = radii_of(law.law, kRows, 2, Key(2));
    EXPECT_LT(test::kolmogorov_smirnov(r, [&](double x) { return 1 - std::pow(1 + x * x / nu, -nu / 2); }),
              3 * test::kKolmogorovBound)
        << nu;
  }
}

TEST(MixingLaw, RecoversTheInverseGammaLaw) {
  // In many dimensions the radius all but shows V: trigamma(32) = 0.18^2 is the noise of its logarithm.
  const double nu = 3;
  const MixingLaw many = fit(test::sorted_radii(kRows, 64, nu, Key(3)), 64),
                  two = fit(test::sorted_radii(kRows, 2, nu, Key(4)), 2);
  for (const double q : {0.9, 0.5, 0.1, 0.01}) {
    const double truth = inverse_gamma_log_quantile(nu, q);
    EXPECT_NEAR(many.law.log_upper_quantile(q), truth, 0.1) << q;
    EXPECT_NEAR(two.law.log_upper_quantile(q), truth, 0.3) << q;  // a quarter of the noise's deviation 1.28
  }
  EXPECT_GT(many.join, 0);
  // Twice the exponent of V is the index of the radius.
  EXPECT_TRUE(
      choose_threshold(test::sorted_radii(kRows, 64, nu, Key(3))).index_interval().contains(2 * many.law.exponent()));
  EXPECT_NEAR(many.law.log_upper_quantile(1e-9) - many.law.log_upper_quantile(1e-8),
              std::log(10.0) / many.law.exponent(), 1e-9);
}

TEST(MixingLaw, GaussianRadiiGiveAConstant) {
  for (const int64_t dim : {1, 2, 8}) {
    const MixingLaw law = fit(test::sorted_radii(kRows, dim, 0, Key(5)), dim);
    EXPECT_EQ(law.law.exponent(), 0);
    EXPECT_EQ(law.join, 0);
    for (const double q : {0.9, 0.5, 0.1}) EXPECT_NEAR(law.law.log_upper_quantile(q), 0, 0.35) << dim << " " << q;
    // What matters is the radius: its far quantile is that of the normal law to a few percent.
    std::vector<double> drawn = radii_of(law.law, 100000, dim, Key(6)),
                        normal = test::sorted_radii(100000, dim, 0, Key(7));
    std::sort(drawn.begin(), drawn.end());
    for (const double p : {0.1, 0.5, 0.9, 0.999}) {
      const auto at = static_cast<size_t>(p * 100000);
      EXPECT_NEAR(std::log(drawn[at] / normal[at]), 0, 0.06) << dim << " " << p;
    }
  }
}

TEST(MixingLaw, FollowsScale) {
  std::vector<double> r = test::sorted_radii(5000, 3, 2, Key(8));
  const MixingLaw law = fit(r, 3);
  for (double& x : r) x *= 10;
  const MixingLaw scaled = fit(r, 3);
  for (const double q : {0.9, 0.5, 0.1, 0.001})
    EXPECT_NEAR(scaled.law.log_upper_quantile(q), law.law.log_upper_quantile(q) + 2 * std::log(10.0), 0.02) << q;
}

TEST(MixingLaw, SmallAndOddSamples) {
  EXPECT_THROW(fit(std::vector<double>(100, 0.0), 2), InputError);
  EXPECT_THROW(fit(test::sorted_radii(5, 2, 0, Key(9)), 2), InputError);
  const MixingLaw equal = fit(std::vector<double>(100, 2.0), 4);
  EXPECT_NEAR(equal.law.log_upper_quantile(0.5), 0, 1);
  EXPECT_EQ(fit(test::sorted_radii(50, 2, 3, Key(10)), 2).law.survival().front(), 1);
}

TEST(QuantileTable, InterpolatesAndExtends) {
  const QuantileTable law({1, 0.5, 0.1}, {0, 1, 3}, 2);
  EXPECT_DOUBLE_EQ(law.log_upper_quantile(0.75), 0.5);
  EXPECT_DOUBLE_EQ(law.log_upper_quantile(0.5), 1);
  EXPECT_DOUBLE_EQ(law.log_upper_quantile(0.1), 3);
  EXPECT_DOUBLE_EQ(law.log_upper_quantile(0.001), 3 + std::log(100.0) / 2);
  EXPECT_NEAR(law.log_upper_quantile(1 - 1e-12), 2e-12, 1e-15);
  const QuantileTable again(law.numbers());
  EXPECT_EQ(again.numbers(), law.numbers());
  EXPECT_DOUBLE_EQ(QuantileTable({1, 0}, {0, 1}, 0).log_upper_quantile(1e-9), 1 - 1e-9);
  EXPECT_THROW(QuantileTable({1, 0.5}, {0, 1}, 0), InputError);
  EXPECT_THROW(QuantileTable({1, 0.5, 0.6}, {0, 1, 2}, 1), InputError);
  EXPECT_THROW(QuantileTable({1, 0.5}, {1, 0}, 1), InputError);
  EXPECT_THROW(QuantileTable(std::vector<double>{1, 1, 0}), InputError);
}

}  // namespace
}  // namespace htfm
