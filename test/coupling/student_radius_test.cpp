#include "htfm/coupling/student_radius.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace htfm {
namespace {

// In two dimensions P(R > r) = (1 + r^2 / nu)^(-nu/2), and in one with nu = 1 the radius is that of a Cauchy variable.
TEST(StudentRadius, KnownQuantiles) {
  for (const double nu : {0.5, 1.5, 3.0, 30.0}) {
    const StudentRadius law(nu, 2);
    for (const double p : {1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999}) {
      const double r = std::sqrt(nu * std::expm1(-2 / nu * std::log(p)));
      EXPECT_NEAR(law.quantile(1 - p) / r, 1, p < 1e-8 ? 1e-4 : 1e-5) << nu << " " << p;
      EXPECT_NEAR(law.survival(r) / p, 1, 1e-4) << nu << " " << p;
    }
  }
  const StudentRadius cauchy(1, 1);
  for (const double u : {1e-6, 0.01, 0.5, 0.99}) EXPECT_NEAR(cauchy.quantile(u) / std::tan(M_PI * u / 2), 1, 1e-5) << u;
}

// r^2 / V must be chi squared whatever the level: the pair has the joint law of clock and radius.
TEST(StudentRadius, ClockGivenRadius) {
  const int64_t n = 200000;
  for (const int64_t dim : {1, 2, 16}) {
    const StudentRadius law(1.5, dim);
    std::vector<double> radius(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) radius[i] = law.quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n));
    const std::vector<double> v = law.draw_slopes(Key(3), radius);
    double mean = 0, square = 0, cross = 0;
    const auto d = static_cast<double>(dim);
    for (int64_t i = 0; i < n; ++i) {
      const double chi = radius[i] * radius[i] / v[i];
      mean += chi / static_cast<double>(n), square += chi * chi / static_cast<double>(n);
      cross += (chi - d) * std::tanh(std::log(v[i])) / static_cast<double>(n);  // independent of V
    }
    const double error = std::sqrt(2 * d / static_cast<double>(n));
    EXPECT_NEAR(mean, d, 4 * error) << dim;
    EXPECT_NEAR(square, d * (d + 2), 4 * std::sqrt(8 * d * (d + 2) * (d + 3) / static_cast<double>(n))) << dim;
    EXPECT_NEAR(cross, 0, 4 * error) << dim;
  }
}

}  // namespace
}  // namespace htfm
