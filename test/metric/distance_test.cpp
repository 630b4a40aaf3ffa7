// Wasserstein distances and the maximum mean discrepancy against closed forms and definitions.
#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/mmd.h"
#include "htfm/metric/wasserstein.h"
#include "test/metric/support.h"

namespace htfm {
namespace {

TEST(W1, OfAShiftIsItsSize) {
  const Points set = lattice_points(999, 3, 1000, Key(2));
  Points moved = set;
  for (double& x : moved.x) x += 17;
  EXPECT_DOUBLE_EQ(w1_pooled(set, moved), 17.0);
  EXPECT_DOUBLE_EQ(w1_pooled(moved, set), 17.0);
  EXPECT_EQ(w1_pooled(set, set), 0.0);
}

TEST(W1, UnequalSizesByRepetition) {
  // Repeating each value leaves the law as it is, and makes the sizes equal.
  for (const auto& [n, m] : {std::pair{3, 4}, {1, 7}, {12, 18}, {900, 1000}}) {
    const Points a = normal_points(n, 1, Key(3)), b = normal_points(m, 1, Key(4), 2.0);
    Points a_many{n * m, 1, {}}, b_many{n * m, 1, {}};
    for (const double x : a.x) a_many.x.insert(a_many.x.end(), static_cast<size_t>(m), x);
    for (const double x : b.x) b_many.x.insert(b_many.x.end(), static_cast<size_t>(n), x);
    const double expected = w1_pooled(a_many, b_many);
    EXPECT_NEAR(w1_pooled(a, b), expected, 1e-12 * expected);
    EXPECT_NEAR(w1_pooled(b, a), expected, 1e-12 * expected);
  }
}

TEST(W1, OfTwoNormalLaws) {
  constexpr int64_t n = 40000;
  // Means 1 apart: the quantile functions do not cross, so W1 is the difference of the means, standard error sqrt(2/n).
  EXPECT_NEAR(w1_pooled(normal_points(n, 1, Key(5)), normal_points(n / 2, 1, Key(6), 1.0, 1.0)), 1.0,
              4 * std::sqrt(3.0 / n));
  // Scales 1 and 3: W1 = 2 sqrt(2/pi) is the difference of the mean absolute values, each with variance (1 - 2/pi)
  // sigma^2 / n.
  EXPECT_NEAR(w1_pooled(normal_points(n, 1, Key(7)), normal_points(n, 1, Key(8), 3.0)), 2 * std::sqrt(2 / M_PI),
              4 * std::sqrt((1 - 2 / M_PI) * 10.0 / n));
}

TEST(W1Sliced, InOneDimensionIsW1) {
  const Points a = stable_points(800, 1, 1.5, Key(9)), b = stable_points(700, 1, 1.7, Key(10));
  const SlicedScore score = w1_sliced(a, b);
  EXPECT_NEAR(score.value, w1_pooled(a, b), 1e-12 * score.value);
  EXPECT_LT(score.standard_error, 1e-12 * score.value);
}

TEST(W1Sliced, OfAShiftIsItsMeanProjection) {
  // E|<theta, c>| = |c| Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2)).
  for (const int64_t dim : {2, 5}) {
    const Points set = stable_points(500, dim, 1.5, Key(11));
    Points moved = set;
    for (int64_t i = 0; i < set.n; ++i) moved.x[static_cast<size_t>(i * dim)] += 3;
    SlicedOptions options;
    options.directions = 2000;
    const SlicedScore score = w1_sliced(set, moved, options);
    const double d = static_cast<double>(dim);
    EXPECT_NEAR(score.value, 3 * std::exp(std::lgamma(d / 2) - std::lgamma((d + 1) / 2)) / std::sqrt(M_PI),
                4 * score.standard_error);
    EXPECT_LT(score.standard_error, 0.02 * score.value);
  }
}

TEST(W1Sliced, SameSeedSameBitsForAnyNumberOfThreads) {
  const Points a = stable_points(1000, 3, 1.5, Key(12)), b = stable_points(900, 3, 1.5, Key(13));
  const int before = thread_count();
  set_thread_count(1);
  const double one = w1_sliced(a, b).value;
  set_thread_count(3);
  EXPECT_EQ(w1_sliced(a, b).value, one);
  set_thread_count(before);
  EXPECT_NE(w1_sliced(a, b, {128, 1}).value, one);
  EXPECT_THROW(w1_sliced(a, b, {0, 1}), InputError);
  EXPECT_THROW(w1_sliced(a, normal_points(10, 2, Key(1))), InputError);
}

double mmd_by_definition(const Points& x, const Points& y, double bandwidth, int octaves) {
  const auto mean = [&](const Points& a, const Points& b, bool same) {
    double sum = 0;
    for (int64_t i = 0; i < a.n; ++i)
      for (int64_t j = 0; j < b.n; ++j) {
        if (same && i == j) continue;
        double d2 = 0;
        for (int64_t d = 0; d < a.dim; ++d) d2 += std::pow(a.row(i)[d] - b.row(j)[d], 2);
        for (int o = -octaves; o <= octaves; ++o) sum += std::exp(-d2 / 2 / std::pow(bandwidth * std::exp2(o), 2));
      }
    return sum / static_cast<double>(a.n * (same ? a.n - 1 : b.n));
  };
  return mean(x, x, true) + mean(y, y, true) - 2 * mean(x, y, false);
}

TEST(Mmd, EqualsDefinition) {
  for (const int64_t dim : {1, 2, 7})
    for (const int64_t n : {2, 8, 61}) {
      const Points x = stable_points(n, dim, 1.5, Key(14)), y = normal_points(n + 5, dim, Key(15), 0.7);
      for (const int octaves : {0, 2, 4}) {
        MmdOptions options;
        options.octaves = octaves;
        const MmdScore score = mmd(x, y, options);
        EXPECT_GT(score.bandwidth, 0);
        EXPECT_NEAR(score.value, mmd_by_definition(x, y, score.bandwidth, octaves), 1e-10);
      }
    }
}

TEST(Mmd, IsUnbiased) {
  // Normal laws with means mu apart, one kernel of bandwidth s: 2 s / sqrt(s^2 + 2) (1 - exp(-mu^2 / (2 (s^2 + 2)))); 0
  // for mu = 0.
  constexpr int kRepeats = 400;
  MmdOptions options;
  options.octaves = 0;
  options.bandwidth = 1.5;
  const double s2 = 1.5 * 1.5;
  for (const double mu : {0.0, 0.8}) {
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < kRepeats; ++i) {
      const double value =
          mmd(normal_points(40, 1, Key(16).child(i)), normal_points(50, 1, Key(17).child(i), 1.0, mu), options).value;
      sum += value;
      squares += value * value;
    }
    const double mean = sum / kRepeats, error = std::sqrt((squares / kRepeats - mean * mean) / kRepeats);
    EXPECT_NEAR(mean, 2 * std::sqrt(s2 / (s2 + 2)) * (1 - std::exp(-mu * mu / 2 / (s2 + 2))), 4 * error) << "mu " << mu;
  }
}

TEST(Mmd, MedianIsTheMedian) {
  // Points 0, 1, 3 and 7: distances 1 2 3 4 6 7.
  const Points x{2, 1, {0, 1}}, y{2, 1, {3, 7}};
  EXPECT_EQ(mmd(x, y).bandwidth, 4.0);
}

TEST(Mmd, SubsampleIsBoundedAndRepeatable) {
  const Points x = normal_points(300, 2, Key(18)), y = normal_points(200, 2, Key(19));
  MmdOptions options;
  options.points = 250;
  const MmdScore score = mmd(x, y, options);
  EXPECT_EQ(score.real_points, 250);
  EXPECT_EQ(score.fake_points, 200);
  const int before = thread_count();
  set_thread_count(3);
  EXPECT_EQ(mmd(x, y, options).value, score.value);
  set_thread_count(before);
  options.seed = 1;
  EXPECT_NE(mmd(x, y, options).value, score.value);
}

TEST(Mmd, PointsThatCoincideAndBadInput) {
  const Points same{4, 2, std::vector<double>(8, 1.0)};
  EXPECT_EQ(mmd(same, same).value, 0.0);
  Points mostly{20, 1, std::vector<double>(20, 0.0)};
  mostly.x[0] = 5;
  EXPECT_GT(mmd(mostly, mostly).bandwidth, 0.0);
  const Points one{1, 2, {0, 0}};
  EXPECT_THROW(mmd(one, same), InputError);
  MmdOptions options;
  options.octaves = -1;
  EXPECT_THROW(mmd(same, same, options), InputError);
  options = {};
  options.bandwidth = -2;
  EXPECT_THROW(mmd(same, same, options), InputError);
}

}  // namespace
}  // namespace htfm
