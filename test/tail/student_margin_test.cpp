// Margins with Student-t tails.
#include "htfm/tail/student_margin.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "htfm/base/random.h"

namespace htfm {
namespace {

// Draws of 3 + 2 t.
std::vector<double> student_draws(double nu, size_t n, uint64_t seed) {
  std::vector<double> z(n), chi(n), out(n);
  fill_normal(Key(seed).child("z"), 0, static_cast<int64_t>(n), z.data());
  fill_log_gamma_draw(Key(seed).child("chi"), nu / 2, 0, static_cast<int64_t>(n), chi.data());
  for (size_t i = 0; i < n; ++i) out[i] = 3 + 2 * z[i] / std::sqrt(2 * std::exp(chi[i]) / nu);
  return out;
}

TEST(StudentMargin, QuantilesAreThoseOfTheLaw) {
  // t with 1 and 2 degrees of freedom have quantiles in closed form.
  for (const double p : {0.4, 0.01, 1e-4, 1e-9}) {
    EXPECT_NEAR(student_quantile(1, p) * std::tan(M_PI * p), 1, 1e-6) << p;
    EXPECT_NEAR(student_quantile(2, p) / ((1 - 2 * p) / std::sqrt(2 * p * (1 - p))), 1, 1e-6) << p;
  }
}

TEST(StudentMargin, HasTheFarQuantilesOfTheLaw) {
  constexpr size_t kRows = 10000;
  const std::optional<Margin> margin = student_margin(student_draws(2.5, kRows, 4));
  ASSERT_TRUE(margin);
  // The deviation of 1 / nu is about 0.015 with so many rows: at p it moves the logarithm by 0.015 log(0.1 / p).
  for (const double p : {1e-2, 1e-3, 1e-4, 1e-5, 1e-6})
    for (const bool above : {false, true}) {
      const double q = std::abs(margin->value({p, above}) - 3) / 2;
      EXPECT_NEAR(std::log(q / student_quantile(2.5, p)), 0, 4 * (0.012 + 0.015 * std::log(0.1 / p))) << p << above;
      // There and back.
      EXPECT_NEAR(margin->place(margin->value({p, above}), 0.5).p / p, 1, 1e-6) << p << above;
    }
  double last = -1e9;
  for (int k = 1; k < 2000; ++k) {
    const double x = margin->value(TailPlace::of_level(k / 2000.0));
    EXPECT_GE(x, last);
    last = x;
  }
}

TEST(StudentMargin, IsNotForOtherLaws) {
  std::vector<double> skewed = student_draws(3, 4000, 5);
  for (double& x : skewed) x = x > 3 ? 3 * x - 6 : x;
  EXPECT_FALSE(student_margin(skewed)) << "one side is three times as wide";
  std::vector<double> normal(4000);
  fill_normal(Key(1), 0, 4000, normal.data());
  EXPECT_FALSE(student_margin(normal));
  EXPECT_FALSE(student_margin(student_draws(3, 500, 6))) << "too few";
}

}  // namespace
}  // namespace htfm
