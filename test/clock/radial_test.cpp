// The law of the radius of a scale mixture, against closed forms and draws.
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/random.h"
#include "htfm/clock/radial_law.h"

namespace htfm {
namespace {

// In the plane P(|x| > r) = (1 + r^2 / nu)^(-nu/2).
TEST(RadialLaw, StudentInThePlane) {
  for (const double nu : {0.7, 3.0, 20.0}) {
    const RadialLaw law(RadialFamily::student, nu, 2);
    for (const double r : {0.01, 0.5, 1.0, 4.0, 100.0, 1e9})
      EXPECT_NEAR(law.log_survival(r), -nu / 2 * std::log1p(r * r / nu), 1e-4 * (1 + nu)) << nu << " " << r;
  }
}

// Both laws of index 1 are Cauchy's; the nodes of V leave an error below 1e-3.
TEST(RadialLaw, TheStableLawOfIndexOneIsCauchys) {
  for (const int64_t dim : {1, 2, 5}) {
    const RadialLaw stable(RadialFamily::stable, 1, dim), student(RadialFamily::student, 1, dim);
    for (const double r : {1e-3, 0.1, 1.0, 7.0, 300.0, 1e6, 1e12}) {
      EXPECT_NEAR(stable.log_density(r), student.log_density(r), 1e-3) << dim << " " << r;
      EXPECT_NEAR(stable.log_survival(r), student.log_survival(r), 1e-3) << dim << " " << r;
      EXPECT_NEAR(stable.weight(r) / student.weight(r), 1, 1e-3) << dim << " " << r;
    }
  }
}

// E[1/V | r] = - p'(r) / (r p(r)).
TEST(RadialLaw, WeightIsTheSlopeOfTheDensity) {
  for (const double alpha : {0.8, 1.5, 1.9}) {
    const RadialLaw law(RadialFamily::stable, alpha, 3);
    for (const double r : {0.1, 1.0, 3.0, 30.0}) {
      const double h = 0.05 * r, slope = (law.log_density(r + h) - law.log_density(r - h)) / (2 * h);
      EXPECT_NEAR(-slope / r / law.weight(r), 1, 0.01) << alpha << " " << r;
    }
  }
}

TEST(RadialLaw, StableRadiiOfDraws) {
  constexpr int64_t n = 200000;
  const double alpha = 1.7;
  std::vector<double> s(n), z(2 * n);
  fill_positive_stable(Key(1), alpha / 2, 1, 0, n, s.data());
  fill_normal(Key(2), 0, 2 * n, z.data());
  const RadialLaw law(RadialFamily::stable, alpha, 2);
  for (const double r : {0.5, 1.0, 2.0, 4.0, 10.0}) {
    int64_t beyond = 0;
    for (int64_t i = 0; i < n; ++i) beyond += std::sqrt(2 * s[i]) * std::hypot(z[2 * i], z[2 * i + 1]) > r;
    const double p = std::exp(law.log_survival(r));
    EXPECT_NEAR(static_cast<double>(beyond) / n, p, 4 * std::sqrt(p * (1 - p) / n)) << r;
  }
}

}  // namespace
}  // namespace htfm
