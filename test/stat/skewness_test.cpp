// Skewness of tails: what it says of symmetric and of skewed laws, and how often by chance.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/tail/diagnosis.h"
#include "test/tail/support.h"

namespace htfm {
namespace {

using test::sorted_draw;

// Rows skew V + sqrt(V) z: V inverse gamma (nu > 0), or gamma of mean 1 with the shape -nu.
at::Tensor mixture(Key key, int64_t n, int64_t dim, double nu, const std::vector<double>& skew) {
  at::Tensor out = at::empty({n, dim}, at::kDouble);
  double* x = out.mutable_data_ptr<double>();
  std::vector<double> log_gamma(static_cast<size_t>(n));
  fill_normal(key.child("z"), 0, n * dim, x);
  const double shape = nu > 0 ? nu / 2 : -nu;
  fill_log_gamma_draw(key.child("v"), shape, 0, n, log_gamma.data());
  for (int64_t i = 0; i < n; ++i) {
    const double v = nu > 0 ? shape / std::exp(log_gamma[i]) : std::exp(log_gamma[i]) / shape;
    for (int64_t k = 0; k < dim; ++k) x[i * dim + k] = skew[static_cast<size_t>(k)] * v + std::sqrt(v) * x[i * dim + k];
  }
  return out;
}

DiagnosisOptions without_directions() {
  DiagnosisOptions options;
  options.directions = 0;
  return options;
}

// A law with known quantiles: the upper side of a Pareto law stretched by 2 against the lower one, at the same index.
TEST(Skewness, RatioAndOctilesOfAKnownLaw) {
  const int64_t n = 200'000;
  const std::vector<double> x = sorted_draw(n, Key(3), [](double p) {
    const double u = p < 0.5 ? 2 * p : 2 * (1 - p), y = std::pow(u, -1 / 3.0) - 1;  // the median is at 0
    return p < 0.5 ? 2 * y : -y;
  });
  std::vector<double> above(x), below(x.rbegin(), x.rend());
  for (double& v : below) v = -v;
  const Skewness s = find_skewness(x, choose_threshold(above), choose_threshold(below), 0.9999, 0.01);
  EXPECT_TRUE(s.ratio_interval.contains(2)) << s.sentence;
  EXPECT_TRUE(s.body_interval.contains(1.0 / 3)) << s.body;  // (2 q - q) / (2 q + q)
  EXPECT_TRUE(s.gamma_interval.contains(0));
  EXPECT_EQ(s.verdict, SkewVerdict::above);
  EXPECT_LT(s.ratio_interval.upper / s.ratio_interval.lower, 1.2);
  EXPECT_DOUBLE_EQ(s.share, 0.01);
}

// Mirrored rows have mirrored skewness, to the last bit of the median.
TEST(Skewness, MirrorsWithTheRows) {
  const at::Tensor x = mixture(Key(4), 4001, 1, 4, {0.5});
  const Skewness a = diagnose(x, {}, without_directions()).skewness[0],
                 b = diagnose(x.neg(), {}, without_directions()).skewness[0];
  EXPECT_NEAR(a.body, -b.body, 1e-12);
  EXPECT_NEAR(a.ratio, 1 / b.ratio, 1e-9);
  EXPECT_NEAR(a.gamma_difference, -b.gamma_difference, 1e-9);
  EXPECT_EQ(a.verdict, SkewVerdict::above);
  EXPECT_EQ(b.verdict, SkewVerdict::below);
}

// Of symmetric tables one in a hundred may be called skewed: of 300 at most 3 and 4 standard errors.
TEST(Skewness, SymmetricTablesAreSeldomCalledSkewed) {
  int64_t called = 0, tables = 0;
  for (const double nu : {1.5, 3.0, 8.0, -1.0, 1e6})
    for (uint64_t seed = 0; seed < 60; ++seed, ++tables)
      called += diagnose(mixture(Key(seed).child("symmetric"), 1000, 2, nu, {0, 0}), {}, without_directions())
                    .most_skewed() >= 0;
  const double expected = 0.01 * static_cast<double>(tables);
  EXPECT_LE(static_cast<double>(called), expected + 4 * std::sqrt(expected)) << called << " of " << tables;
}

TEST(Skewness, SkewedTablesAreFound) {
  for (const double nu : {3.0, 6.0, -1.0}) {
    int64_t found = 0;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const Diagnosis d =
          diagnose(mixture(Key(seed).child("skewed"), 3000, 2, nu, {0.0, -0.7}), {}, without_directions());
      found += d.most_skewed() == 1 && d.skewness[1].verdict == SkewVerdict::below;
    }
    EXPECT_GE(found, 9) << nu;
  }
}

TEST(Skewness, SaysWhenThereIsTooLittle) {
  const Diagnosis few = diagnose(mixture(Key(1), 60, 1, 3, {1}), {}, without_directions());
  EXPECT_EQ(few.skewness[0].verdict, SkewVerdict::unclear);
  EXPECT_EQ(few.most_skewed(), -1);
  at::Tensor ties = at::empty({1000, 1}, at::kDouble).zero_();
  ties.mutable_data_ptr<double>()[0] = 1;
  EXPECT_EQ(diagnose(ties, {}, without_directions()).skewness[0].verdict, SkewVerdict::unclear);
}

}  // namespace
}  // namespace htfm
