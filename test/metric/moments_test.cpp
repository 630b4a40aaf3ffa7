#include <gtest/gtest.h>

#include <cmath>

#include "htfm/metric/moment_scores.h"
#include "htfm/metric/tail_dependence.h"
#include "test/metric/support.h"

namespace htfm {
namespace {

TEST(Moments, ArePopulationMoments) {
  const Points real{4, 1, {0, 0, 0, 1}}, fake{5, 1, {-2, -1, 0, 1, 7}};
  const MomentScore s = moment_scores(real, fake).columns[0];
  // A Bernoulli variable with p = 1/4: skewness (1 - 2p) / sqrt(pq), kurtosis 3 + (1 - 6pq) / (pq).
  const double pq = 3.0 / 16;
  EXPECT_NEAR(s.skewness_real.value, 0.5 / std::sqrt(pq), 1e-12);
  EXPECT_NEAR(s.kurtosis_real.value, 3 + (1 - 6 * pq) / pq, 1e-12);
  // Deviations from the mean 1: -3, -2, -1, 0, 6.
  const double m2 = 50 / 5.0, m3 = (216 - 27 - 8 - 1) / 5.0, m4 = (81 + 16 + 1 + 1296) / 5.0;
  EXPECT_NEAR(s.skewness_fake.value, m3 / std::pow(m2, 1.5), 1e-12);
  EXPECT_NEAR(s.kurtosis_fake.value, m4 / (m2 * m2), 1e-12);
  EXPECT_NEAR(s.kr.value, std::abs(1 - s.kurtosis_fake.value / s.kurtosis_real.value), 1e-12);
  EXPECT_NEAR(s.sr.value, std::abs(1 - s.skewness_fake.value / s.skewness_real.value), 1e-12);
}

// Of n normal numbers the skewness has variance 6/n, the kurtosis 24/n: with every row drawn one by one, and with most
// of them summed up.
TEST(Moments, IntervalsOfNormalSamples) {
  for (const int64_t n : {1500, 200000}) {
    const MomentScore s =
        moment_scores(normal_points(n, 1, Key(1), 3, 100), normal_points(1000, 1, Key(2)), {.rounds = 2000}).columns[0];
    const double root = std::sqrt(static_cast<double>(n)), tolerance = n < 10000 ? 0.35 : 0.15;
    EXPECT_NEAR(s.skewness_real.value, 0, 4 * std::sqrt(6.0) / root);
    EXPECT_NEAR(s.kurtosis_real.value, 3, 4 * std::sqrt(24.0) / root);
    const double skewness = 2 * 1.96 * std::sqrt(6.0) / root, kurtosis = 2 * 1.96 * std::sqrt(24.0) / root;
    EXPECT_NEAR(s.skewness_real.high - s.skewness_real.low, skewness, tolerance * skewness);
    EXPECT_NEAR(s.kurtosis_real.high - s.kurtosis_real.low, kurtosis, tolerance * kurtosis);
    EXPECT_TRUE(s.kurtosis_real.low < s.kurtosis_real.value && s.kurtosis_real.value < s.kurtosis_real.high);
  }
}

// Drawing the largest rows alone and summing the rest up gives the ends that drawing every row gives.
TEST(Moments, HeavyTailsAsByDrawingEveryRow) {
  const int64_t n = 6000, rounds = 1000;
  const Points set = stable_points(n, 1, 1.5, Key(3));
  const MomentScore s = moment_scores(set, set, {.rounds = rounds}).columns[0];
  std::vector<double> kurtoses;
  for (int64_t r = 0; r < rounds; ++r) {
    const Key key = Key(4).child(static_cast<uint64_t>(r));
    Points drawn{n, 1, {}};
    for (int64_t i = 0; i < n; ++i)
      drawn.x.push_back(set.x[key.below(static_cast<uint64_t>(n), static_cast<uint64_t>(i))]);
    kurtoses.push_back(moment_scores(drawn, drawn, {.rounds = 0}).columns[0].kurtosis_real.value);
  }
  std::sort(kurtoses.begin(), kurtoses.end());
  const auto rank_of = [&](double x) {
    return static_cast<double>(std::lower_bound(kurtoses.begin(), kurtoses.end(), x) - kurtoses.begin()) / rounds;
  };
  // Two empirical percentiles of 1,000 rounds each; ties at rows drawn equally often count in steps.
  const double bound = 4 * std::sqrt(2 * 0.025 * 0.975 / rounds);
  EXPECT_NEAR(rank_of(s.kurtosis_real.low), 0.025, bound);
  EXPECT_NEAR(rank_of(s.kurtosis_real.high), 0.975, bound);
}

TEST(Moments, HugeAndConstantColumns) {
  Points real = normal_points(100, 2, Key(5)), fake = normal_points(100, 2, Key(6));
  for (size_t i = 0; i < real.x.size(); i += 2) real.x[i] *= 1e149, real.x[i + 1] = 0.3;
  const MomentScores s = moment_scores(real, fake);
  EXPECT_TRUE(std::isfinite(s.columns[0].kurtosis_real.value) && s.columns[0].kr.has_interval());
  EXPECT_TRUE(std::isnan(s.columns[1].kurtosis_real.value) && std::isnan(s.columns[1].kr.value));
  EXPECT_EQ(s.kr.value, s.columns[0].kr.value);
}

/// Uniform pairs that are equal with probability q, independent else: chi(u) = q + (1 - q)(1 - u) on both sides.
Points pairs_with_dependence(int64_t n, double q, Key key) {
  Points p{n, 2, {}};
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<uint64_t>(3 * i);
    const double x = key.uniform(at), y = key.uniform(at + 1) < q ? x : key.uniform(at + 2);
    p.x.push_back(x), p.x.push_back(y);
  }
  return p;
}

TEST(TailDependence, OfAKnownLaw) {
  const int64_t n = 100000;
  for (const double q : {0.0, 0.3, 1.0}) {
    const Points real = pairs_with_dependence(n, q, Key(7)), fake = pairs_with_dependence(n / 2, 0.6, Key(8));
    const TailDependence s = tail_dependence(real, fake);
    ASSERT_EQ(s.pairs.size(), 1u);
    for (size_t l = 0; l < 2; ++l)
      for (const Chi* chi : {&s.pairs[0].above[l], &s.pairs[0].below[l]}) {
        const double rare = 1 - s.levels[l], real_chi = q + (1 - q) * rare, fake_chi = 0.6 + 0.4 * rare;
        EXPECT_NEAR(chi->real.value, real_chi, 4 * std::sqrt(real_chi / (rare * n)) * (q < 1));
        EXPECT_NEAR(chi->fake.value, fake_chi, 4 * std::sqrt(fake_chi / (rare * n / 2)));
        EXPECT_NEAR(chi->difference.value, chi->fake.value - chi->real.value, 1e-15);
        EXPECT_TRUE(chi->real.low <= chi->real.value && chi->real.value <= chi->real.high);
      }
    EXPECT_NEAR(s.mean_above[0].value, std::abs(s.pairs[0].above[0].difference.value), 1e-15);
  }
}

TEST(TailDependence, IntervalsCoverTheTruth) {
  const int draws = 400;
  int real = 0, difference = 0;
  for (int i = 0; i < draws; ++i) {
    const Key key = Key(9).child(static_cast<uint64_t>(i));
    const TailDependence s = tail_dependence(pairs_with_dependence(4000, 0.3, key.child("real")),
                                             pairs_with_dependence(6000, 0.5, key.child("fake")),
                                             {.bootstrap = {.seed = static_cast<uint64_t>(i)}});
    const Chi& chi = s.pairs[0].above[0];
    real += chi.real.low <= 0.335 && 0.335 <= chi.real.high;
    difference += chi.difference.low <= 0.19 && 0.19 <= chi.difference.high;
  }
  // 4 standard errors, and 2 % for the bootstrap's own error.
  const double off = 4 * std::sqrt(0.95 * 0.05 / draws) + 0.02;
  EXPECT_GT(real, draws * (0.95 - off));
  EXPECT_GT(difference, draws * (0.95 - off));
  EXPECT_LT(real, draws);
  EXPECT_LT(difference, draws);
}

TEST(TailDependence, ManyPairsAreDrawn) {
  const Points set = normal_points(200, 12, Key(10));
  const TailDependence all = tail_dependence(set, set, {.bootstrap = {.rounds = 0}}),
                       some = tail_dependence(set, set, {.pairs = 20, .bootstrap = {.rounds = 0}});
  ASSERT_EQ(all.pairs.size(), 66u);
  EXPECT_EQ(all.pairs[11].first, 1);
  EXPECT_EQ(all.pairs[11].second, 2);
  EXPECT_EQ(all.pairs[65].first, 10);
  EXPECT_EQ(all.pairs[65].second, 11);
  ASSERT_EQ(some.pairs.size(), 20u);
  for (const PairDependence& p : some.pairs) EXPECT_TRUE(p.first < p.second && p.second < 12);
  EXPECT_TRUE(tail_dependence(normal_points(50, 1, Key(1)), normal_points(50, 1, Key(2))).pairs.empty());
}

}  // namespace
}  // namespace htfm
