// Figures of risk from samples, against closed forms; intervals from rounds.
#include "htfm/risk/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/risk/spread.h"
#include "test/statistics.h"

namespace htfm {
namespace {

using Values = std::vector<double>;

// A report of losses a, b, ... at given levels, nothing else.
RiskReport layout(size_t losses, const Values& levels) {
  RiskReport r;
  r.options.levels = levels, r.options.stress_level = levels[0];
  for (size_t k = 0; k < losses; ++k) {
    r.losses.push_back({.name = std::string(1, static_cast<char>('a' + k))});
    for (const double p : levels) r.losses.back().measures.emplace_back().p = p;
  }
  return r;
}

LossSamples samples_of(std::vector<Values> values) {
  LossSamples s;
  const size_t n = values.size();
  s.values = std::move(values);
  s.exact.assign(n, nullptr), s.laws.resize(n);
  s.endless_above.assign(n, false), s.endless_below.assign(n, false);
  return s;
}

double student_density(double nu, double x) {
  return std::exp(std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2) - (nu + 1) / 2 * std::log1p(x * x / nu)) /
         std::sqrt(nu * M_PI);
}

double student_quantile(double nu, double p) {
  double low = 0, high = 1e6;
  for (int i = 0; i < 200; ++i) ((test::student_cdf(nu, (low + high) / 2) < p) ? low : high) = (low + high) / 2;
  return low;
}

// The integral of x^2 f(x) beyond q, by steps that are even in log x.
double second_moment_beyond(double nu, double q) {
  double sum = 0;
  constexpr int kSteps = 20000;
  for (int i = 0; i < kSteps; ++i) {
    const double x = q * std::exp(20.0 * (i + 0.5) / kSteps);
    sum += x * x * student_density(nu, x) * x * 20 / kSteps;
  }
  return sum;
}

Values student_draws(double nu, int64_t n, uint64_t seed) {
  Values z(static_cast<size_t>(n)), g(static_cast<size_t>(n));
  fill_normal(Key(seed).child("z"), 0, n, z.data());
  fill_log_gamma_draw(Key(seed).child("g"), nu / 2, 0, n, g.data());
  for (size_t i = 0; i < z.size(); ++i) z[i] *= std::sqrt(nu / (2 * std::exp(g[i])));
  return z;
}

// ES of Student's law: f(q) / (1 - p) (nu + q^2) / (nu - 1).
TEST(Measure, ValueAtRiskAndShortfallOfStudentsLaw) {
  constexpr double kNu = 5;
  constexpr int64_t kSamples = 400000;
  Values x = student_draws(kNu, kSamples, 1), turned = x;
  for (double& v : turned) v = -v;
  RiskReport r = layout(2, {0.95, 0.99, 0.999});
  r.losses[1].high = false;
  measure(r, samples_of({x, turned}));
  for (const RiskMeasure& m : r.losses[0].measures) {
    const double q = student_quantile(kNu, m.p), f = student_density(kNu, q), beyond = kSamples * (1 - m.p);
    const double shortfall = f / (1 - m.p) * (kNu + q * q) / (kNu - 1);
    EXPECT_NEAR(m.quantile.value, q, 4 * std::sqrt(m.p * (1 - m.p) / kSamples) / f);
    const double spread = second_moment_beyond(kNu, q) / (1 - m.p) - shortfall * shortfall;
    const double variance = spread + m.p * (shortfall - q) * (shortfall - q);
    EXPECT_NEAR(m.sfall.value, shortfall, 4 * std::sqrt(variance / beyond)) << m.p;
  }
  for (size_t i = 0; i < 3; ++i) {  // losses that are small values: the same in the other direction
    EXPECT_DOUBLE_EQ(r.losses[1].measures[i].quantile.value, -r.losses[0].measures[i].quantile.value);
    EXPECT_DOUBLE_EQ(r.losses[1].measures[i].sfall.value, -r.losses[0].measures[i].sfall.value);
  }
}

TEST(Measure, JointExceedancesOfIndependentAndEqualColumns) {
  constexpr int64_t kSamples = 200000;
  const Values x = student_draws(4, kSamples, 2), y = student_draws(4, kSamples, 3);
  Values opposite = x;
  for (double& v : opposite) v = -2 * v;
  RiskReport r = layout(3, {0.9, 0.99});
  r.losses[2].high = false;
  for (const auto& [a, b] : {std::pair{0, 1}, std::pair{0, 2}}) {
    r.pairs.push_back({.first = a, .second = b});
    for (const double p : r.options.levels) r.pairs.back().levels.emplace_back().p = p;
  }
  measure(r, samples_of({x, y, opposite}));
  for (size_t l = 0; l < 2; ++l) {
    const double q = 1 - r.options.levels[l];
    const JointRisk &apart = r.pairs[0].levels[l], &same = r.pairs[1].levels[l];
    EXPECT_NEAR(apart.both.value, q * q, 4 * q / std::sqrt(kSamples));
    EXPECT_NEAR(apart.second_given_first.value, q, 4 * std::sqrt(q / (q * kSamples)));
    EXPECT_NEAR(apart.mean_second.value, 0, 4 * std::sqrt(2 / (q * kSamples)));  // variance nu / (nu - 2) = 2
    // A column that falls as the other grows: its small values are the losses.
    EXPECT_NEAR(same.both.value, q, 2.0 / kSamples);
    EXPECT_EQ(same.second_given_first.value, 1);
    EXPECT_NEAR(same.mean_second.value, -2 * r.losses[0].measures[l].sfall.value, 1e-2);
  }
}

TEST(Measure, SaysNothingWhereSamplesEndAndNoMeanWhereThereIsNone) {
  const Values x = student_draws(3, 10000, 4);
  RiskReport r = layout(1, {0.99, 0.9999});
  LossSamples s = samples_of({x});
  measure(r, s);
  EXPECT_TRUE(std::isfinite(r.losses[0].measures[0].quantile.value));
  EXPECT_TRUE(std::isnan(r.losses[0].measures[1].quantile.value)) << "one sample lies beyond";
  s.endless_above[0] = true;
  measure(r, s);
  EXPECT_TRUE(std::isinf(r.losses[0].measures[0].sfall.value));
}

TEST(Measure, StressIsTheLawGivenTheStress) {
  const Values x = student_draws(4, 100000, 5);
  Values doubled = x;
  for (double& v : doubled) v = 2 * v + 1;
  RiskReport r = layout(2, {0.95});
  r.options.stress_quantiles = {0.0, 0.5};
  r.stress.push_back({.given = 0});
  r.stress[0].rows.resize(2);
  for (StressRow& row : r.stress[0].rows) row.quantiles.resize(2);
  measure(r, samples_of({x, doubled}));
  const StressTable& t = r.stress[0];
  EXPECT_EQ(t.samples, 5000);
  EXPECT_NEAR(t.rows[0].mean.value, r.losses[0].measures[0].sfall.value, 1e-12 * 1000);
  EXPECT_NEAR(t.rows[1].mean.value, 2 * t.rows[0].mean.value + 1, 1e-9);
  EXPECT_GT(t.rows[0].quantiles[0].value, r.losses[0].measures[0].quantile.value);
  EXPECT_NEAR(t.rows[1].quantiles[1].value, 2 * t.rows[0].quantiles[1].value + 1, 1e-9);
}

TEST(Measure, AnAtomAtTheEndIsBeyondItself) {
  Values x(1000, 0.0), y(1000);
  for (size_t i = 0; i < 300; ++i) x[i] = 1;  // the largest value, for 30 % of the samples
  for (size_t i = 0; i < 1000; ++i) y[i] = static_cast<double>(i);
  RiskReport r = layout(2, {0.95});
  r.pairs.push_back({.first = 0, .second = 1});
  r.pairs[0].levels.emplace_back().p = 0.95;
  measure(r, samples_of({x, y}));
  EXPECT_EQ(r.losses[0].measures[0].quantile.value, 1);
  EXPECT_EQ(r.losses[0].measures[0].sfall.value, 1);
  EXPECT_EQ(r.pairs[0].levels[0].both.value, 0);
}

TEST(Intervals, ArePercentilesAndStretchToRefits) {
  Scored a(1, 0, 0), b(1, 0, 0), unknown(1, 0, 0), endless(1, 0, 0);
  std::vector<Values> rounds;
  for (int i = 0; i < 201; ++i) {
    const double x = 0.8 + 0.002 * i;
    rounds.push_back({x, x, i % 2 || i < 20 ? std::nan("") : x, i > 150 ? std::numeric_limits<double>::infinity() : x});
  }
  set_intervals({&a, &b, &unknown, &endless}, rounds, {}, 0.95);
  EXPECT_NEAR(a.low, 0.81, 1e-12);
  EXPECT_NEAR(a.high, 1.19, 1e-12);
  EXPECT_FALSE(unknown.has_interval());
  EXPECT_TRUE(std::isinf(endless.high));
  std::vector<Values> refits;
  for (int i = 0; i < 20; ++i) refits.push_back({1 + 0.001 * i, i % 2 ? 0.5 : 2, 1, 1});
  const Scored before = b;
  set_intervals({&a, &b, &unknown, &endless}, rounds, refits, 0.95);
  EXPECT_NEAR(a.low, 0.81, 1e-12) << "refits that scatter less change nothing";
  EXPECT_LT(b.low, before.low);
  EXPECT_GT(b.high, before.high);
  // sd of log is about 0.71, that of the rounds 0.117.
  EXPECT_NEAR(std::log(b.high) / std::log(before.high), 0.711 / 0.117 * 1.07, 0.35);
}

TEST(Portfolio, IsReadStrictly) {
  const Portfolio p = parse_portfolio("column,weight\n\"DAX, total\",0.5\r\n\nFTSE ; -1e-1\n", "w.csv");
  ASSERT_EQ(p.size(), 2u);
  EXPECT_EQ(p[0], (std::pair<std::string, double>{"DAX, total", 0.5}));
  EXPECT_EQ(p[1], (std::pair<std::string, double>{"FTSE", -0.1}));
  for (const char* bad : {"DAX\n", "DAX,much\n", "DAX,1\nDAX,2\n", "", "DAX,0\n", "DAX,nan\n", "DAX,1e999\n"})
    EXPECT_THROW(parse_portfolio(bad, "w.csv"), InputError) << bad;
  try {
    parse_portfolio("\x1b[2J\x1b[Hpaid", "w.csv");
    ADD_FAILURE() << "expected a refusal";
  } catch (const InputError& e) {
    EXPECT_EQ(std::string(e.what()).find('\x1b'), std::string::npos) << "a terminal would obey it";
  }
  EXPECT_EQ(portfolio_weights({{"b", 2}}, {"a", "b"}), (Values{0, 2}));
  try {
    portfolio_weights({{"DAZ", 2}}, {"DAX", "SMI"});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean DAX?"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace htfm
