// Skewed laws by maximum likelihood: their densities, and that a fit finds the law that the rows were drawn from.
#include "htfm/stat/skewed_law.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/random.h"
#include "htfm/stat/student_t.h"
#include "test/tail/support.h"

namespace htfm {
namespace {

// For chi = 0 V is gamma, for psi = 0 inverse gamma, and for lambda = -1/2 inverse Gaussian with mean sqrt(chi / psi):
// all known.
TEST(SkewedLaw, MomentsOfV) {
  for (const double k : {0.7, 2.0, 30.0}) {
    const GigMoments g = gig_moments(k, 0, 3);
    EXPECT_NEAR(g.v, k / 1.5, 1e-7 * g.v);
    EXPECT_NEAR(g.log_integral, std::lgamma(k) - k * std::log(1.5), 1e-7);
    const GigMoments i = gig_moments(-k - 1, 3, 0);
    EXPECT_NEAR(i.v, 1.5 / k, 1e-7 * i.v);
    EXPECT_NEAR(i.inverse, (k + 1) / 1.5, 1e-7 * i.inverse);
    EXPECT_NEAR(i.log_integral, std::lgamma(k + 1) - (k + 1) * std::log(1.5), 1e-7);
    const double h = 1e-5, digamma = (std::lgamma(k + 1 + h) - std::lgamma(k + 1 - h)) / (2 * h);
    EXPECT_NEAR(i.log, std::log(1.5) - digamma, 1e-6);
  }
  for (const double chi : {1e-3, 1.0, 1e4}) {
    const double psi = 0.5, mean = std::sqrt(chi / psi);
    const GigMoments g = gig_moments(-0.5, chi, psi);
    EXPECT_NEAR(g.v, mean, 1e-7 * mean);
    EXPECT_NEAR(g.inverse, 1 / mean + 1 / chi, 1e-7 * g.inverse);
    EXPECT_NEAR(g.log_integral, std::log(2 * M_PI / chi) / 2 - std::sqrt(chi * psi), 1e-7);
  }
}

TEST(SkewedLaw, DensitiesHaveMassOne) {
  for (const SkewedFamily& family : skewed_families()) {
    SkewedLaw law;
    law.name = family.name, law.parameter = family.parameter, law.value = 3;
    law.location = {0.3}, law.skew = {0.8}, law.root = {1.4};
    double mass = 0;
    const double h = 0.01;
    for (double y = -9; y < 14; y += h) {  // x = sinh y reaches far out on both sides
      const double x = std::sinh(y);
      mass += h * std::cosh(y) * std::exp(law.log_density(&x));
    }
    EXPECT_NEAR(mass, 1, 1e-6) << family.name;
  }
}

// Without a skew, skewed-student is the Student-t law: the two fits, by other iterations, meet.
TEST(SkewedLaw, SymmetricOneIsStudents) {
  const std::vector<double> r = test::sorted_radii(3000, 1, 4, Key(2));
  at::Tensor x = at::empty({3000, 1}, at::kDouble);
  for (int64_t i = 0; i < 3000; ++i) x.mutable_data_ptr<double>()[i] = (i % 2 ? 1 : -1) * r[static_cast<size_t>(i)];
  const SkewedLaw law = fit_skewed_law(skewed_families()[0], x, true);
  const StudentT student = fit_student_t(x);
  EXPECT_NEAR(law.log_likelihood, student.log_likelihood, 1e-5 * std::abs(student.log_likelihood));
  EXPECT_NEAR(law.log_density(x.const_data_ptr<double>()), student.log_density(x.const_data_ptr<double>()), 0.02);
}

// location + skew V + sqrt(V) z in two dimensions; V inverse gamma, or inverse Gaussian by the method of Michael,
// Schucany and Haas.
at::Tensor draw(const SkewedFamily& family, Key key, int64_t n, double value, const std::vector<double>& skew) {
  const auto dim = static_cast<int64_t>(skew.size());
  at::Tensor out = at::empty({n, dim}, at::kDouble);
  double* x = out.mutable_data_ptr<double>();
  fill_normal(key.child("z"), 0, n * dim, x);
  std::vector<double> v(static_cast<size_t>(n)), y(v), u(v);
  if (family.parameter == "nu") {
    fill_log_gamma_draw(key.child("v"), value / 2, 0, n, v.data());
    for (double& g : v) g = value / 2 / std::exp(g);
  } else {
    fill_normal(key.child("v"), 0, n, y.data());
    fill_uniform(key.child("u"), 0, n, u.data());
    for (size_t i = 0; i < v.size(); ++i) {
      const double q = y[i] * y[i] / (2 * value), root = 1 + q - std::sqrt(2 * q + q * q);
      v[i] = u[i] < 1 / (1 + root) ? root : 1 / root;
    }
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < dim; ++k)
      x[i * dim + k] = 0.5 + skew[static_cast<size_t>(k)] * v[i] + std::sqrt(v[i]) * x[i * dim + k];
  return out;
}

// Means over tables within 4 of their standard errors, as the tables themselves show them.
TEST(SkewedLaw, FitFindsTheLaw) {
  constexpr int kTables = 8;
  for (const SkewedFamily& family : skewed_families()) {
    const double truth = family.parameter == "nu" ? 5 : 1.2;
    std::vector<std::vector<double>> seen;
    for (uint64_t seed = 0; seed < kTables; ++seed) {
      const at::Tensor x = draw(family, Key(seed), 2000, truth, {0.6, -0.3});
      const SkewedLaw flat = fit_skewed_law(family, x, true), law = fit_skewed_law(family, x, false, &flat);
      EXPECT_TRUE(law.converged);
      EXPECT_GT(law.log_likelihood, flat.log_likelihood + 20) << family.name;
      seen.push_back({std::log(law.value), law.skew[0], law.skew[1], law.location[0], law.location[1], law.scale()});
    }
    const std::vector<double> expected{std::log(truth), 0.6, -0.3, 0.5, 0.5, 1};
    for (size_t k = 0; k < expected.size(); ++k) {
      double mean = 0, square = 0;
      for (const auto& table : seen) mean += table[k] / kTables;
      for (const auto& table : seen) square += std::pow(table[k] - mean, 2) / (kTables - 1);
      EXPECT_NEAR(mean, expected[k], 4 * std::sqrt(square / kTables)) << family.name << " " << k;
      EXPECT_LT(std::sqrt(square), 0.25) << family.name << " " << k;
    }
  }
}

}  // namespace
}  // namespace htfm
