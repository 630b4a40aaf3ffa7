// Value at risk and expected shortfall by the generalised Pareto fit: closed forms, and intervals that hold the truth.
#include "htfm/tail/risk_measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/random.h"

namespace htfm {
namespace {

constexpr double kShape = 0.25;

double value_at(double q) { return std::expm1(-kShape * std::log(q)) / kShape; }
double mean_beyond(double q) { return value_at(q) + (1 + kShape * value_at(q)) / (1 - kShape); }

std::vector<double> draws(int64_t n, uint64_t seed) {
  std::vector<double> out(static_cast<size_t>(n));
  fill_uniform(Key(seed), 0, n, out.data());
  for (double& v : out) v = value_at(v);
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Shortfall, IsTheMeanOfTheLawBeyondItsQuantile) {
  const GpdFit fit{.shape = 0.3, .scale = 2, .threshold = 5, .log_likelihood = 0, .exceedances = 100, .n = 1000};
  for (const double p : {0.05, 0.01, 1e-4}) {
    double sum = 0;  // of quantile(p v) over v in (0, 1), by steps that are even in log v
    constexpr int kSteps = 40000;
    for (int i = 0; i < kSteps; ++i) {
      const double from = std::exp(-40.0 * (i + 1) / kSteps), to = std::exp(-40.0 * i / kSteps);
      sum += (to - from) * fit.quantile(p * std::sqrt(from * to));
    }
    EXPECT_NEAR(fit.shortfall(p) / sum, 1, 1e-5);
  }
  GpdFit endless = fit;
  endless.shape = 1;
  EXPECT_TRUE(std::isinf(endless.shortfall(0.01)));
}

TEST(RiskMeasures, ProfileIntervalsHoldTheTruthAsOftenAsTheySay) {
  constexpr int kTables = 300;
  std::array<int, 4> held{};
  for (int t = 0; t < kTables; ++t) {
    const std::vector<double> x = draws(1500, 100 + static_cast<uint64_t>(t));
    TailReport r;
    r.choice.k = 120, r.choice.n = 1500, r.choice.fit = fit_gpd(x, 120), r.choice.threshold = r.choice.fit.threshold;
    r.tail.assign(x.end() - 151, x.end());
    size_t at = 0;
    for (const RiskMeasure& m : risk_measures(r, std::array{0.99, 0.999})) {
      held[at++] += m.quantile.low <= value_at(1 - m.p) && value_at(1 - m.p) <= m.quantile.high;
      held[at++] += m.sfall.low <= mean_beyond(1 - m.p) && mean_beyond(1 - m.p) <= m.sfall.high;
    }
  }
  // The likelihood ratio of 120 excesses is a point or two short of its limit, and the share beyond the threshold is
  // taken as known: 3 points are granted beside 4 standard errors.
  const double error = 4 * std::sqrt(0.95 * 0.05 / kTables);
  for (const int h : held) {
    EXPECT_GE(h / static_cast<double>(kTables), 0.92 - error);
    EXPECT_LE(h / static_cast<double>(kTables), 0.95 + error);
  }
}

TEST(RiskMeasures, AreInTheUnitsOfTheDataOnBothSides) {
  const std::vector<double> x = draws(20000, 5);
  TailReport r = diagnose_tail("x", x);
  ASSERT_GT(r.choice.k, 200);
  const std::array levels{0.95, 0.99, 0.999};
  const std::vector<RiskMeasure> above = risk_measures(r, levels);
  r.centre = 7, r.sign = -1;
  const std::vector<RiskMeasure> below = risk_measures(r, levels);
  for (size_t i = 0; i < levels.size(); ++i) {
    EXPECT_NEAR(below[i].quantile.value, 7 - above[i].quantile.value, 1e-12);
    EXPECT_NEAR(below[i].quantile.low, 7 - above[i].quantile.high, 1e-12);
    EXPECT_LE(above[i].quantile.low, above[i].quantile.value);
    EXPECT_LE(above[i].quantile.value, above[i].quantile.high);
    EXPECT_LE(above[i].sfall.low, above[i].sfall.value);
    EXPECT_LE(above[i].sfall.value, above[i].sfall.high);
    // The intervals of 95 % are 2 standard errors: the truth lies within 4.
    EXPECT_NEAR(above[i].quantile.value, value_at(1 - levels[i]), above[i].quantile.high - above[i].quantile.low);
    EXPECT_NEAR(above[i].sfall.value, mean_beyond(1 - levels[i]), above[i].sfall.high - above[i].sfall.low);
  }
}

TEST(RiskMeasures, ReturnLevelsAreTheQuantilesOfTheirPeriods) {
  const TailReport r = diagnose_tail("x", draws(5000, 6));
  const auto levels = return_levels(r, std::array{100.0, 1000.0}), measures = risk_measures(r, std::array{0.99, 0.999});
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(levels[i].p, measures[i].p, 1e-15);
    EXPECT_NEAR(levels[i].quantile.value / measures[i].quantile.value, 1, 1e-12);
  }
  EXPECT_TRUE(std::isnan(risk_measures(r, std::array{0.5})[0].quantile.value)) << "the tail does not reach there";
  EXPECT_THROW(return_levels(r, std::array{1.0}), InputError);
  EXPECT_THROW(risk_measures(r, std::array{1.0}), InputError);
}

}  // namespace
}  // namespace htfm
