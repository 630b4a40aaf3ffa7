#include "htfm/stat/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/tail_view.h"
#include "htfm/metric/tails.h"
#include "test/metric/support.h"
#include "test/statistics.h"

namespace htfm {
namespace {

// The number of draws among the r largest of n rows is Binomial(n, r/n), and two disjoint such numbers have covariance
// -r s / n.
TEST(TopDraws, HaveTheLawOfResampling) {
  const int64_t n = 300, rounds = 20000;
  const TopDraws draws(n, 60, rounds, Key(1));
  double mean = 0, square = 0, other = 0, product = 0, first = 0;
  for (int64_t r = 0; r < rounds; ++r) {
    const auto ranks = draws.round(r);
    ASSERT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
    const auto a = static_cast<double>(std::lower_bound(ranks.begin(), ranks.end(), 20) - ranks.begin());
    const auto b = static_cast<double>(std::lower_bound(ranks.begin(), ranks.end(), 30) - ranks.begin()) - a;
    mean += a / rounds, square += a * a / rounds, other += b / rounds, product += a * b / rounds;
    first += (ranks[0] == 0) / static_cast<double>(rounds);
  }
  const double variance = 20 * (1 - 20.0 / n), bound = 4 / std::sqrt(static_cast<double>(rounds));
  EXPECT_NEAR(mean, 20, bound * std::sqrt(variance));
  EXPECT_NEAR(other, 10, bound * std::sqrt(10.0));
  EXPECT_NEAR(square - mean * mean, variance, bound * variance * std::sqrt(2.1));
  EXPECT_NEAR(product - mean * other, -20 * 10.0 / n, bound * std::sqrt(variance * 10));
  const double present = 1 - std::pow(1 - 1.0 / n, n);
  EXPECT_NEAR(first, present, bound * std::sqrt(present * (1 - present)));
}

TEST(TopDraws, SameBitsForAnyNumberOfThreads) {
  set_thread_count(1);
  const TopDraws one(5000, 500, 7, Key(2));
  set_thread_count(3);
  const TopDraws three(5000, 500, 7, Key(2));
  set_thread_count(0);
  for (int64_t r = 0; r < 7; ++r)
    EXPECT_TRUE(std::equal(one.round(r).begin(), one.round(r).end(), three.round(r).begin()));
}

TEST(BinomialQuantile, HasTheLaw) {
  const int64_t count = 40000;
  std::vector<double> z(static_cast<size_t>(count));
  fill_normal(Key(3), 0, count, z.data());
  struct Case {
    int64_t n;
    double p;
  };
  for (const Case c : {Case{10, 0.3}, Case{2000000, 2e-6}, Case{1000, 0.9}, Case{2000000, 0.05}, Case{5, 0.999}}) {
    double mean = 0, square = 0;
    for (const double x : z) {
      const auto k = static_cast<double>(binomial_quantile(c.n, c.p, x));
      mean += k / count, square += k * k / count;
    }
    const double n = static_cast<double>(c.n), variance = n * c.p * (1 - c.p), kurtosis = 3 + 1 / variance;
    EXPECT_NEAR(mean, n * c.p, 4 * std::sqrt(variance / count)) << c.n;
    EXPECT_NEAR(square - mean * mean, variance, 4 * variance * std::sqrt(kurtosis / count) + 0.1) << c.n;
  }
  EXPECT_EQ(binomial_quantile(10, 0, 3), 0);
  EXPECT_EQ(binomial_quantile(10, 1, -3), 10);
  for (double x = -4; x < 4; x += 0.01)
    EXPECT_LE(binomial_quantile(100, 0.2, x), binomial_quantile(100, 0.2, x + 0.01));
}

TEST(Interval, PercentilesAndTheirReflection) {
  std::vector<double> rounds;
  for (int i = 0; i <= 1000; ++i) rounds.push_back(i / 1000.0);
  const Scored s = percentile_interval(0.4, rounds, 0.9);
  EXPECT_NEAR(s.low, 0.05, 1e-12);
  EXPECT_NEAR(s.high, 0.95, 1e-12);
  const Scored reflected = reflected_interval(0.4, rounds, 0.9);
  EXPECT_EQ(reflected.low, 0);
  EXPECT_NEAR(reflected.high, 0.95, 1e-12);
  EXPECT_NEAR(reflected_interval(0.8, rounds, 0.9).low, 0.65, 1e-12);
  const Scored size = magnitude({-0.5, -0.7, 0.2});
  EXPECT_EQ(size.value, 0.5);
  EXPECT_EQ(size.low, 0);
  EXPECT_EQ(size.high, 0.7);
  std::vector<double> broken(10, NAN);
  broken[0] = 1;
  EXPECT_FALSE(percentile_interval(0.4, broken, 0.9).has_interval());
  EXPECT_FALSE(percentile_interval(0.4, {}, 0.9).has_interval());
  EXPECT_THROW(check_options({.rounds = -1}), InputError);
}

/// The resample itself, ascending.
std::vector<double> explicit_resample(const TailView& view, Ranks ranks) {
  std::vector<double> out;
  for (const int32_t r : ranks) out.push_back(view.top()[static_cast<size_t>(r)]);
  std::reverse(out.begin(), out.end());
  return out;
}

double slow_ks(const std::vector<double>& a, const std::vector<double>& b, double cut) {
  const auto above = [](const std::vector<double>& v, double x) {
    return static_cast<double>(std::count_if(v.begin(), v.end(), [x](double y) { return y > x; }));
  };
  double distance = 0;
  for (const auto* v : {&a, &b})
    for (const double x : *v)
      if (x > cut) distance = std::max(distance, std::abs(above(a, x) / above(a, cut) - above(b, x) / above(b, cut)));
  return distance;
}

// Every figure of a resample is the figure of the rows it stands for; lattice points have ties.
TEST(TailView, FiguresOfResamplesAreThoseOfTheirRows) {
  for (const bool ties : {false, true}) {
    const int64_t n = 400, m = 300;
    std::vector<double> a = ties ? lattice_points(n, 1, 12, Key(4)).x : stable_points(n, 1, 1.5, Key(4)).x;
    std::vector<double> b = ties ? lattice_points(m, 1, 14, Key(5)).x : stable_points(m, 1, 1.2, Key(5)).x;
    const TailView real(a, n, INFINITY), fake(b, m, INFINITY);
    const ViewPair pair(real, fake);
    const TopDraws real_draws(n, n, 50, Key(6)), fake_draws(m, m, 50, Key(7));
    for (int64_t r = 0; r < 51; ++r) {
      const Ranks p = r < 50 ? real_draws.round(r) : real_draws.sample(),
                  q = r < 50 ? fake_draws.round(r) : fake_draws.sample();
      const std::vector<double> x = explicit_resample(real, p), y = explicit_resample(fake, q);
      for (const double level : {0.9, 0.95, 0.99}) EXPECT_EQ(real.quantile(p, level), quantile_of_sorted(x, level));
      const double hill = real.hill(p, 20), expected = hill_index(x, 20).index;
      EXPECT_TRUE(std::abs(hill - expected) < 1e-9 * expected || (std::isnan(hill) && std::isnan(expected)))
          << hill << " " << expected;
      const double cut = quantile_of_sorted(x, 0.9);
      const ViewPair::Beyond beyond = pair.beyond(p, q, 0.9);
      const auto beyond_cut = [cut](const std::vector<double>& v) {
        return std::count_if(v.begin(), v.end(), [cut](double t) { return t > cut; });
      };
      EXPECT_EQ(beyond.real, beyond_cut(x));
      EXPECT_EQ(beyond.fake, beyond_cut(y));
      if (beyond.real > 0 && beyond.fake > 0) {
        EXPECT_NEAR(beyond.ks, slow_ks(x, y, cut), 1e-12);
      }
      EXPECT_EQ(pair.exceedances(p, q), std::count_if(y.begin(), y.end(), [&](double v) { return v > x.back(); }));
    }
  }
}

// The expectation of a count is the sum of its tail probabilities.
TEST(Exceedances, LawOfTheCount) {
  const int64_t n = 50, m = 200;
  double mean = 0;
  for (int64_t k = 1; k <= m; ++k) mean += exceedance_probability(n, m, k);
  EXPECT_NEAR(mean, static_cast<double>(m) / static_cast<double>(n + 1), 1e-9);
  EXPECT_EQ(exceedance_probability(n, m, 0), 1);
  EXPECT_EQ(exceedance_probability(n, m, m + 1), 0);
}

}  // namespace
}  // namespace htfm
