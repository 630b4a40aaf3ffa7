#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/tail/student_check.h"

namespace htfm {
namespace {

StudentT law(double nu) {
  StudentT t;
  t.nu = nu;
  t.location = {1, -200, 0.03};
  t.root = {2, 0, 0, 50, 30, 0, -0.002, 0.001, 0.004};
  return t;
}

// The marginal of a coordinate: (x - m) / s is Student-t with the same freedom, with quantiles known in closed form for
// nu = 2.
TEST(StudentT, DrawsHaveTheLaw) {
  const StudentT t = law(2);
  const int64_t n = 100000;
  const at::Tensor x = t.sample(Key(1), n);
  const std::vector<double> scatter = t.scatter();
  for (int64_t k = 0; k < 3; ++k)
    for (const double p : {0.1, 0.5, 0.9, 0.99}) {
      const double a = 2 * p - 1, quantile = t.location[k] + std::sqrt(scatter[4 * k]) * a / std::sqrt((1 - a * a) / 2);
      int64_t below = 0;
      for (int64_t i = 0; i < n; ++i) below += x.const_data_ptr<double>()[3 * i + k] <= quantile;
      EXPECT_NEAR(static_cast<double>(below) / n, p, 4 * std::sqrt(p * (1 - p) / n)) << k << " " << p;
    }
  EXPECT_TRUE(t.sample(Key(1), 10).equal(x.narrow(0, 0, 10)));
}

// Standard errors by the expected information. For nu: I = (psi'(nu/2) - psi'((nu+d)/2)) / 4 - d (nu+d+4) / (2 nu
// (nu+d) (nu+d+2)) where scatter is known; with unknown scatter it is smaller, and a factor of 2 on the standard error
// covers that for d = 3.
TEST(StudentT, RecoversItsParameters) {
  const auto trigamma = [](double x) {
    double sum = 0;
    for (; x < 20; ++x) sum += 1 / (x * x);
    return sum + 1 / x + 1 / (2 * x * x) + 1 / (6 * x * x * x);
  };
  const int64_t n = 20000;
  for (const double nu : {1.0, 3.0, 6.0}) {
    const StudentT t = law(nu), fitted = fit_student_t(t.sample(Key(7), n));
    EXPECT_TRUE(fitted.converged);
    const double information =
        (trigamma(nu / 2) - trigamma((nu + 3) / 2)) / 4 - 3 * (nu + 7) / (2 * nu * (nu + 3) * (nu + 5));
    EXPECT_NEAR(fitted.nu, nu, 4 * 2 / std::sqrt(information * static_cast<double>(n)));
    const std::vector<double> a = t.scatter(), b = fitted.scatter();
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(fitted.location[i], t.location[i],
                  4 * std::sqrt(a[4 * i] * (nu + 5) / (nu + 3) / static_cast<double>(n)));
      for (int64_t j = 0; j < 3; ++j)
        EXPECT_NEAR(b[3 * i + j], a[3 * i + j], 0.08 * std::sqrt(a[4 * i] * a[4 * j])) << nu;
    }
    // A maximum: no other freedom, and not the truth, is more likely.
    double truth = 0, own = 0;
    const at::Tensor x = t.sample(Key(7), n);
    for (int64_t i = 0; i < n; ++i) {
      truth += t.log_density(x.const_data_ptr<double>() + 3 * i);
      own += fitted.log_density(x.const_data_ptr<double>() + 3 * i);
    }
    EXPECT_GT(own, truth);
    EXPECT_NEAR(own, fitted.log_likelihood, 1e-4 * std::abs(own));
  }
}

TEST(StudentT, NormalDataGetMuchFreedom) {
  at::Tensor x = at::empty({20000, 2}, at::kDouble);
  fill_normal(Key(3), 0, x.numel(), x.mutable_data_ptr<double>());
  EXPECT_GT(fit_student_t(x).nu, 40);
}

TEST(StudentT, DegenerateColumnsDoNotBreakIt) {
  at::Tensor x = at::empty({300, 3}, at::kDouble);
  double* p = x.mutable_data_ptr<double>();
  for (uint64_t i = 0; i < 300; ++i) {
    p[3 * i] = 1e9 * Key(1).uniform(i);
    p[3 * i + 1] = -2e-9 * Key(1).uniform(i);  // the first one again
    p[3 * i + 2] = 5;
  }
  const StudentT t = fit_student_t(x);
  const at::Tensor y = t.sample(Key(1), 1000);
  for (int64_t i = 0; i < y.numel(); ++i) ASSERT_TRUE(std::isfinite(y.const_data_ptr<double>()[i]));
  for (int64_t i = 0; i < 1000; ++i) EXPECT_NEAR(y.const_data_ptr<double>()[3 * i + 2], 5, 1e-2);
  EXPECT_THROW(fit_student_t(x.narrow(0, 0, 3)), InputError);
}

TEST(StudentCheck, BetaDistribution) {
  for (const double x : {0.01, 0.3, 0.77, 0.999}) {
    EXPECT_NEAR(beta_distribution(x, 1, 1), x, 1e-14);
    EXPECT_NEAR(beta_distribution(x, 2, 3), x * x * (6 - 8 * x + 3 * x * x), 1e-13);
    EXPECT_NEAR(beta_distribution(x, 0.5, 0.5), 2 / M_PI * std::asin(std::sqrt(x)), 1e-13);
    EXPECT_NEAR(beta_distribution(x, 0.5, 300) + beta_distribution(1 - x, 300, 0.5), 1, 1e-12);
  }
}

// Under the law the p-value is uniform, so of 20 draws 2 are expected to be rejected at 0.1, deviation 1.34; the
// interval misses one, deviation 1.
TEST(StudentCheck, AcceptsItsOwnLaw) {
  int rejected = 0, missed = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const StudentCheck c = check_student_t(law(5).sample(Key(seed), 400));
    rejected += !c.fits(), missed += !c.freedom.contains(5);
  }
  EXPECT_LE(rejected, 2 + 4 * 1.34);
  EXPECT_LE(missed, 1 + 4 * 1.0);
}

// Distances may fit a Student-t law where the rows themselves do not.
TEST(StudentCheck, LooksAtDirections) {
  const int64_t n = 1500;
  StudentT unit;
  unit.nu = 3, unit.location = {0}, unit.root = {1};
  const at::Tensor t = unit.sample(Key(4), n);
  EXPECT_TRUE(check_student_t(t).even);
  at::Tensor losses = t.clone(), axes = at::empty({n, 2}, at::kDouble);
  // Every large value above: the same distances.
  for (int64_t i = 0; i < n; ++i)
    if (double& x = losses.mutable_data_ptr<double>()[i]; x < -1.5) x = -x;
  EXPECT_FALSE(check_student_t(losses).even);
  // Two columns that are large one at a time.
  const at::Tensor other = unit.sample(Key(5), n);
  for (int64_t i = 0; i < n; ++i) {
    axes.mutable_data_ptr<double>()[2 * i] = t.const_data_ptr<double>()[i];
    axes.mutable_data_ptr<double>()[2 * i + 1] = other.const_data_ptr<double>()[i];
  }
  EXPECT_FALSE(check_student_t(axes).even);
}

TEST(StudentCheck, RejectsOtherLaws) {
  const at::Tensor t = law(8).sample(Key(1), 1500);
  at::Tensor one_sided = t.slice(1, 0, 1).sub(1).abs().contiguous();  // a half-normal shape: far from any symmetric law
  EXPECT_FALSE(check_student_t(one_sided).fits());
  at::Tensor mixed = t.clone();  // one row of ten a hundred times as far out
  for (int64_t i = 0; i < 1500; i += 10)
    for (int64_t k = 0; k < 3; ++k) mixed.mutable_data_ptr<double>()[3 * i + k] *= 100;
  EXPECT_FALSE(check_student_t(mixed).fits());
}

}  // namespace
}  // namespace htfm
