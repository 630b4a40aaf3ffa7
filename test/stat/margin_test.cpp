// Laws of columns as quantile functions: places and values are each other's inverse, atoms keep their share, tails are
// those of the law.
#include "htfm/stat/margin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/random.h"
#include "htfm/stat/estimators.h"
#include "htfm/stat/score_calibration.h"

namespace htfm {
namespace {

using Values = std::vector<double>;

template <class Quantile>
Values sorted_draws(int64_t n, Quantile quantile, uint64_t seed = 1) {
  Values out(static_cast<size_t>(n));
  fill_uniform(Key(seed), 0, n, out.data());
  for (double& v : out) v = quantile(v);
  std::sort(out.begin(), out.end());
  return out;
}

// Symmetric, P(|X| > x) = (1 + x / 2)^-2 and the like.
double two_sided_pareto(double u, double index) {
  const double p = 2 * std::min(u, 1 - u), size = std::pow(p, -1 / index) - 1;
  return u < 0.5 ? -size : size;
}

TEST(Margin, PlacesAndValuesAreInverse) {
  const Values x = sorted_draws(4000, [](double u) { return two_sided_pareto(u, 3); });
  const Margin m = Margin::fit(x);
  ASSERT_TRUE(m.above().there() && m.below().there());
  for (size_t i = 0; i < x.size(); i += 7) EXPECT_NEAR(m.value(m.place(x[i], 0.5)), x[i], 1e-9 * (1 + std::abs(x[i])));
  for (const double far : {-1e4, -300.0, 300.0, 1e4, 1e6}) {
    const TailPlace place = m.place(far, 0.5);
    EXPECT_EQ(place.above, far > 0);
    EXPECT_NEAR(m.value(place) / far, 1, 1e-9);
  }
  const Margin back = Margin::from_numbers(m.numbers());
  double last = -1e300;
  for (double s = -8; s < 8; s += 0.01) {  // grows, and is the same out of a checkpoint
    const TailPlace place = ScoreLaw::named("normal").place(s);
    EXPECT_EQ(back.value(place), m.value(place));
    EXPECT_GE(m.value(place), last);
    last = m.value(place);
  }
}

TEST(Margin, SidesShareAShapeUnlessTheDataTellThemApart) {
  const Margin even = Margin::fit(sorted_draws(5000, [](double u) { return two_sided_pareto(u, 2.5); }));
  EXPECT_EQ(even.above().shape, even.below().shape);
  EXPECT_NEAR(even.above().shape, 0.4, 4 * 1.4 / std::sqrt(even.above().exceedances + even.below().exceedances));
  const Margin uneven = Margin::fit(sorted_draws(5000, [](double u) {
    return u < 0.5 ? std::log(2 * u) : std::pow(2 * (1 - u), -1 / 1.2) - 1;  // exponential below
  }));
  EXPECT_GT(uneven.above().shape, uneven.below().shape + 0.3);
  // The law's own far quantile, which no row reaches: within 4 deviations of log q, 1.4 log(share / p) / sqrt(k).
  const double far = even.value({1e-5, true}), truth = two_sided_pareto(1 - 1e-5, 2.5);
  const double k = static_cast<double>(even.above().exceedances + even.below().exceedances);
  EXPECT_LT(std::abs(std::log(far / truth)), 4 * 1.4 * std::log(even.above().share / 1e-5) / std::sqrt(k));
}

TEST(Margin, AtomsKeepTheirShareWhereverTheyAre) {
  for (const double at : {0.0, -2.0}) {  // at the bound, and inside
    Values x = sorted_draws(3000, [&](double u) { return u < 0.3 ? 0.0 : at + 5 * (u - 0.3); });
    std::sort(x.begin(), x.end());
    const double share = static_cast<double>(std::count(x.begin(), x.end(), 0.0)) / 3000;
    const Margin m = Margin::fit(x, {.tail_below = at < 0, .tail_above = true});
    double zeros = 0;
    constexpr int kPlaces = 100000;
    for (int i = 0; i < kPlaces; ++i) zeros += m.value(TailPlace::of_level((i + 0.5) / kPlaces)) == 0;
    EXPECT_NEAR(zeros / kPlaces, share, 1.5 / 3000) << at;
    // Rows that are the atom lie evenly over its places, and come back as it.
    double low = 1, high = 0;
    for (int i = 0; i < 1000; ++i) {
      const TailPlace place = m.place(0, (i + 0.5) / 1000);
      EXPECT_EQ(m.value(place), 0);
      low = std::min(low, place.level()), high = std::max(high, place.level());
    }
    EXPECT_NEAR(high - low, share, 2.0 / 1000) << at;
  }
}

TEST(Margin, ASideWithoutTailEndsWithItsBound) {
  const Values x = sorted_draws(2000, [](double u) { return u; });
  const Margin m = Margin::fit(x, {.tail_below = false, .tail_above = false, .least = 0, .most = 1});
  EXPECT_NEAR(m.value({1e-9, false}), 0, 1e-3);
  EXPECT_LE(m.value({1e-9, true}), 1);
  EXPECT_GE(m.value({1e-9, false}), 0);
  // A lognormal law near its bound, beyond the least value: within a fifth of the logarithm.
  const ScoreLaw normal = ScoreLaw::named("normal");
  const Margin losses =
      Margin::fit(sorted_draws(3000, [&](double u) { return std::exp(normal.score(TailPlace::of_level(u))); }),
                  {.tail_below = false, .tail_above = true, .least = 0});
  EXPECT_NEAR(std::log(losses.value({5e-5, false})), normal.score({5e-5, false}), 0.5);
  EXPECT_NEAR(losses.value(losses.place(0.01, 0.5)), 0.01, 1e-6);
  EXPECT_EQ(Margin::from_numbers(losses.numbers()).value({5e-5, false}), losses.value({5e-5, false}));
}

TEST(Scores, PlacesAndScoresAreInverseHoweverFar) {
  for (const std::string& name : ScoreLaw::names()) {
    const ScoreLaw law = ScoreLaw::named(name);
    for (const double p : {0.5, 0.3, 1e-3, 1e-9, 1e-100})
      for (const bool above : {false, true}) {
        const double s = law.score({p, above});
        if (p < 0.5) {
          EXPECT_EQ(s > 0, above) << name << p;
        }
        EXPECT_NEAR(law.place(s).p / p, 1, 1e-6) << name;
      }
  }
  EXPECT_NEAR(ScoreLaw::named("normal").score({0.025, true}), 1.959964, 1e-6);
}

// A model whose scores are too narrow, with a tail that falls too fast: its places are set right.
TEST(Scores, CalibrationGivesThePlaceInTheModelsOwnLaw) {
  for (const std::string& name : ScoreLaw::names()) {
    const ScoreLaw law = ScoreLaw::named(name);
    const auto model = [&](double s) { return 0.1 + 0.9 * s; };
    Values drawn = sorted_draws(100000, [&](double u) { return model(law.score(TailPlace::of_level(u))); });
    const ScoreCalibration c = ScoreCalibration::fit(drawn, law);
    const ScoreCalibration back = ScoreCalibration::from_numbers(c.numbers());
    for (const double p : {0.4, 0.1, 0.01, 1e-3}) {
      for (const bool above : {false, true}) {
        const TailPlace place = c.place(model(law.score({p, above})), law);
        EXPECT_EQ(place.above, above) << name << p;
        // Four standard errors of a share; beyond the last knot also those of the slope.
        EXPECT_NEAR(std::log(place.p / p), 0, 4 / std::sqrt(p * 100000) + (p < 0.002 ? 0.15 : 0.02)) << name << p;
        EXPECT_EQ(back.place(model(law.score({p, above})), law).p, place.p);
      }
    }
    const TailPlace far = c.place(model(law.score({1e-7, true})), law);
    EXPECT_GT(far.p, 1e-9) << name;
    EXPECT_LT(far.p, 1e-5) << name;
  }
}

// A model whose scores are twice as far from the middle beyond 1 in 1,000: followed by its 20 outermost draws, the
// place of 1 in 2,000 is right within 4 standard errors of the 50 draws beyond it, and not by the slope of many draws.
TEST(Scores, FewerDrawsBeyondFollowAModelFartherOut) {
  const ScoreLaw law = ScoreLaw::named("normal");
  const double kink = law.score({1e-3, true});
  const auto model = [&](double s) { return std::abs(s) > kink ? 2 * s : s; };
  const Values drawn = sorted_draws(100000, [&](double u) { return model(law.score(TailPlace::of_level(u))); });
  const auto error = [&](double beyond) {
    const TailPlace place = ScoreCalibration::fit(drawn, law, beyond).place(model(law.score({5e-4, true})), law);
    return std::abs(std::log(place.p / 5e-4));
  };
  EXPECT_LT(error(20), 4 / std::sqrt(50.0));
  EXPECT_GT(error(ScoreCalibration::kBeyond), 1);
}

// Of a million values without a tail the far quantiles are those of the values, not of the line from the last of evenly
// spaced knots to the largest value.
TEST(Margin, AFineEndFollowsTheLargestValues) {
  constexpr int64_t kCount = 1'000'000;
  std::vector<double> sorted;
  for (int64_t i = 0; i < kCount; ++i) sorted.push_back(-std::log1p(-(static_cast<double>(i) + 0.5) / kCount));
  const MarginOptions options{.tail_below = false, .tail_above = false, .fine_end = true};
  const Margin margin = Margin::fit(sorted, options);
  for (const double p : {1e-2, 1e-3, 1e-4, 1e-5})
    EXPECT_NEAR(margin.value({p, true}), -std::log(p), 0.02) << p;  // knots are 2 % of what is left apart
  EXPECT_LT(margin.numbers().size(), 6000U);
}

}  // namespace
}  // namespace htfm
