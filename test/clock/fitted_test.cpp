// The fitted clock: its law is that of its table.
#include <gtest/gtest.h>

#include "htfm/base/quantile_table.h"
#include "htfm/clock/clock.h"
#include "test/statistics.h"

namespace htfm {
namespace {

const std::vector<double> kTable{1.25, 1,    -2, 0.7,
                                 -0.5, 0.05, 1.5};  // a Pareto tail of exponent 1.25 from e^1.5 on, 5 % of the mass

double cdf(double v) {
  const double l = std::log(v);
  if (l >= 1.5) return 1 - 0.05 * std::exp(-1.25 * (l - 1.5));
  if (l >= -0.5) return 0.3 + 0.65 * (l + 0.5) / 2;
  return l >= -2 ? 0.3 * (l + 2) / 1.5 : 0;
}

TEST(FittedClock, HasTheLawOfItsTable) {
  const auto clock = make_clock({"fitted", {}, 10, kTable});
  const ClockSample sample = clock->sample(Key(1), {.count = 200000});
  std::vector<double> v(sample.end.const_data_ptr<double>(), sample.end.const_data_ptr<double>() + 200000);
  EXPECT_LT(test::kolmogorov_smirnov(v, cdf), test::kKolmogorovBound);
  // The path is a straight line, so its area is half its end.
  EXPECT_TRUE(sample.area.mul(2).equal(sample.end));
  EXPECT_DOUBLE_EQ(clock->tail_exponent(), 2.5);
  EXPECT_EQ(clock->natural_feature(), NaturalFeature::log_slope);
  // Beyond the table the tail goes on: of 200000 draws 5 % e^-5 = 67 lie a factor e^4 beyond the last knot.
  const double far = 200000 * 0.05 * std::exp(-5.0);
  EXPECT_NEAR(static_cast<double>(std::count_if(v.begin(), v.end(), [](double x) { return x > std::exp(5.5); })), far,
              4 * std::sqrt(far));
}

TEST(FittedClock, WithoutATailIsBounded) {
  const auto clock = make_clock({"fitted", {}, 10, {0, 1, 0, 0.5, 0.1, 0, 0.3}});
  const ClockSample sample = clock->sample(Key(2), {.count = 10000, .paths = false});
  EXPECT_GE(sample.end.min().item<double>(), 1);
  EXPECT_LE(sample.end.max().item<double>(), std::exp(0.3));
  EXPECT_TRUE(std::isinf(clock->tail_exponent()));
}

}  // namespace
}  // namespace htfm
