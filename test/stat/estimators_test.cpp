// Estimates of gamma on laws whose tails are known: the maximum of the likelihood, and how often intervals cover.
#include "htfm/stat/estimators.h"

#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "test/statistics.h"
#include "test/tail/support.h"

namespace htfm {
namespace {

using test::sorted_gpd;
using test::sorted_pareto;

double log_likelihood(std::span<const double> sorted, int64_t k, double shape, double scale) {
  double sum = 0;
  const double threshold = sorted[sorted.size() - static_cast<size_t>(k) - 1];
  for (const double x : sorted.last(static_cast<size_t>(k))) {
    const double y = x - threshold, t = shape * y / scale;
    if (!(t > -1)) return -INFINITY;
    sum -= std::log(scale) + (shape == 0 ? y / scale : (1 + 1 / shape) * std::log1p(t));
  }
  return sum;
}

TEST(NormalQuantile, InvertsTheDistributionFunction) {
  for (const double p : {1e-12, 0.001, 0.025, 0.5, 0.84, 0.975, 0.9999})
    EXPECT_NEAR(test::normal_cdf(normal_quantile(p)) / p, 1, 1e-10) << p;
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_THROW(normal_quantile(1), InputError);
}

TEST(GpdFit, IsWhereTheLikelihoodIsLargest) {
  for (const double shape : {-0.3, 0.0, 0.3, 0.8, 2.0})
    for (const int64_t k : {20, 200, 2000}) {
      const std::vector<double> x = sorted_gpd(3000, shape, Key(1).child(static_cast<uint64_t>(k)));
      const GpdFit fit = fit_gpd(x, k);
      EXPECT_NEAR(fit.log_likelihood, log_likelihood(x, k, fit.shape, fit.scale), 1e-7 * std::abs(fit.log_likelihood));
      for (double g = -0.5; g < 4; g += 0.02)
        for (double s = -1.5; s < 1.5; s += 0.05)
          ASSERT_LE(log_likelihood(x, k, g, fit.scale * std::exp(s)), fit.log_likelihood + 1e-6)
              << shape << " " << k << " " << g << " " << s;
    }
}

// Of very many excesses the sums are taken by blocks of near ones: the likelihood is that of all of them, also where
// values are equal, have a gap or end at a cap.
TEST(GpdFit, OfVeryManyIsTheSame) {
  const int64_t n = 60000, k = 50000;
  for (const double shape : {-0.4, 0.0, 0.4, 1.5})
    for (const char* kind : {"smooth", "rounded", "gap", "capped"}) {
      std::vector<double> x = sorted_gpd(n, shape, Key(3));
      const double middle = x[static_cast<size_t>(n / 2)], high = x[static_cast<size_t>(n - n / 20)];
      for (double& v : x) {
        if (kind[0] == 'r') v = std::round(v / middle * 50) * middle / 50;
        if (kind[0] == 'g' && v > middle) v += 3 * middle;
        if (kind[0] == 'c') v = std::min(v, high);
      }
      const GpdFit fit = fit_gpd(x, k);
      const double exact = log_likelihood(x, k, fit.shape, fit.scale), tolerance = 1e-4;  // of the sum of 50,000
      EXPECT_NEAR(fit.log_likelihood, exact, tolerance) << shape << " " << kind;
      for (const double g : {-0.01, -0.001, 0.0, 0.001, 0.01})
        for (const double s : {-0.01, -0.001, 0.0, 0.001, 0.01})
          EXPECT_LE(log_likelihood(x, k, std::max(fit.shape + g, kSmallestShape), fit.scale * std::exp(s)),
                    exact + tolerance)
              << shape << " " << kind << " " << g << " " << s;
    }
}

TEST(GpdFit, FollowsScaleAndShift) {
  std::vector<double> x = sorted_gpd(2000, 0.4, Key(2));
  const GpdFit fit = fit_gpd(x, 300);
  for (double& v : x) v = 1e6 * v - 3e5;
  const GpdFit moved = fit_gpd(x, 300);
  EXPECT_NEAR(moved.shape, fit.shape, 1e-6);
  EXPECT_NEAR(moved.scale / fit.scale, 1e6, 1);
  EXPECT_NEAR(moved.quantile(1e-4), 1e6 * fit.quantile(1e-4) - 3e5, 1e3);
}

TEST(GpdFit, SurvivalAndQuantileAreInverse) {
  for (const double shape : {-0.3, 0.0, 1e-10, 0.5}) {
    GpdFit fit{shape, 2, 1, 0, 100, 1000};
    for (const double p : {0.9, 0.1, 1e-3, 1e-6})
      EXPECT_NEAR(fit.survival(fit.excess_quantile(p)) / p, 1, 1e-7) << shape;
    EXPECT_NEAR(fit.quantile(0.1), 1, 1e-12);
  }
}

TEST(GpdFit, SaysWhereThereIsNoTail) {
  const std::vector<double> few = {1, 2, 3, 4}, equal(100, 2.0);
  EXPECT_TRUE(std::isnan(fit_gpd(few, 3).shape));
  EXPECT_TRUE(std::isnan(fit_gpd(equal, 50).shape));
  EXPECT_TRUE(std::isnan(fit_gpd(equal, 100).shape));
  EXPECT_TRUE(std::isnan(moment_estimate(equal, 50).gamma));
  EXPECT_TRUE(std::isnan(hill_estimate(equal, 50).gamma));
  EXPECT_TRUE(std::isnan(gpd_profile_interval(equal, fit_gpd(equal, 50)).lower));
}

// Coverage of intervals of 95 %: within 4 standard errors of a binomial count, and one percent for the asymptotics.
constexpr int kDraws = 500;
constexpr double kSlack = 4 * 0.0097 + 0.01;

TEST(GpdFit, IntervalsCover) {
  for (const double shape : {-0.2, 0.0, 0.3, 0.8}) {
    int wald = 0, profile = 0, quantile = 0, quantile_profile = 0;
    double bias = 0;
    for (int i = 0; i < kDraws; ++i) {
      const std::vector<double> x = sorted_gpd(501, shape, Key(3).child(static_cast<uint64_t>(i)));
      const GpdFit fit = fit_gpd(x, 500);
      bias += (fit.shape - shape) / kDraws;
      wald += fit.estimate().gamma_interval.contains(shape);
      profile += gpd_profile_interval(x, fit).contains(shape);
      const double truth = shape == 0 ? -std::log(1e-4) : (std::pow(1e-4, -shape) - 1) / shape;
      quantile += fit.quantile_interval(1e-4).contains(truth);
      if (i < 200) quantile_profile += gpd_quantile_interval(x, fit, 1e-4).contains(truth);
    }
    // Wald's intervals converge slowly for short tails, which is why there are profile ones.
    EXPECT_NEAR(wald / double{kDraws}, 0.95, shape < 0 ? kSlack + 0.03 : kSlack) << shape;
    EXPECT_NEAR(profile / double{kDraws}, 0.95, kSlack) << shape;
    EXPECT_NEAR(quantile / double{kDraws}, 0.95, kSlack + 0.03) << shape;
    EXPECT_NEAR(quantile_profile / 200.0, 0.95, 4 * 0.0154 + 0.01) << shape;
    EXPECT_LT(std::abs(bias), 4 * (1 + shape) / std::sqrt(500.0 * kDraws) + 2 / 500.0) << shape;  // of order 1/k
  }
}

TEST(GpdFit, ProfileIntervalsCoverShortTails) {
  for (const double shape : {0.0, 0.5}) {
    int profile = 0;
    for (int i = 0; i < kDraws; ++i) {
      const std::vector<double> x = sorted_gpd(31, shape, Key(4).child(static_cast<uint64_t>(i)));
      profile += gpd_profile_interval(x, fit_gpd(x, 30)).contains(shape);
    }
    EXPECT_NEAR(profile / double{kDraws}, 0.95, kSlack + 0.01) << shape;
  }
}

TEST(GpdFit, DevianceIsTheLikelihoodRatio) {
  const std::vector<double> x = sorted_gpd(400, 0.3, Key(5));
  const GpdFit fit = fit_gpd(x, 200);
  double best = -INFINITY;
  for (double s = -1; s < 1; s += 1e-4) best = std::max(best, log_likelihood(x, 200, 0, fit.scale * std::exp(s)));
  EXPECT_NEAR(gpd_signed_deviance(x, fit, 0), 2 * (fit.log_likelihood - best), 1e-4);
  const Interval interval = gpd_profile_interval(x, fit);
  EXPECT_NEAR(gpd_signed_deviance(x, fit, interval.lower), 3.8415, 0.01);
  EXPECT_NEAR(gpd_signed_deviance(x, fit, interval.upper), -3.8415, 0.01);
}

TEST(HillAndMoment, IntervalsCoverAPowerLaw) {
  for (const double index : {0.7, 1.5, 4.0}) {
    int hill = 0, moment = 0;
    for (int i = 0; i < kDraws; ++i) {
      const std::vector<double> x = sorted_pareto(3000, index, Key(6).child(static_cast<uint64_t>(i)));
      hill += hill_estimate(x, 600).index_interval().contains(index);
      moment += moment_estimate(x, 600).index_interval().contains(index);
    }
    EXPECT_NEAR(hill / double{kDraws}, 0.95, kSlack) << index;
    EXPECT_NEAR(moment / double{kDraws}, 0.95, kSlack) << index;
  }
}

TEST(Moment, SeesAnEndPoint) {
  // Uniform values: gamma = -1.
  double sum = 0;
  int covered = 0;
  for (int i = 0; i < 200; ++i) {
    const TailEstimate m = moment_estimate(
        test::sorted_draw(20000, Key(7).child(static_cast<uint64_t>(i)), [](double p) { return 1 - p; }), 200);
    sum += m.gamma / 200;
    covered += m.gamma_interval.contains(-1);
    EXPECT_TRUE(std::isinf(m.index()));
  }
  EXPECT_NEAR(sum, -1, 0.05);
  EXPECT_NEAR(covered / 200.0, 0.95, 4 * 0.0154);
}

TEST(TailEstimate, IndexIsTheInverse) {
  TailEstimate e{0.5, 0.1, {0.3, 0.7}, 100};
  EXPECT_DOUBLE_EQ(e.index(), 2);
  EXPECT_DOUBLE_EQ(e.index_standard_error(), 0.4);
  EXPECT_DOUBLE_EQ(e.index_interval().lower, 1 / 0.7);
  EXPECT_DOUBLE_EQ(e.index_interval().upper, 1 / 0.3);
  EXPECT_TRUE(std::isinf(index_interval({-0.1, 0.2}).upper));
}

}  // namespace
}  // namespace htfm
