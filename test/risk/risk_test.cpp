// Risk of a model: figures of columns are those of their laws, sums are sums, and intervals come from the rows.
#include "htfm/risk/risk.h"

#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/fit/calibrated_sample.h"
#include "htfm/risk/loss_model.h"
#include "htfm/stat/student_t.h"
#include "htfm/train/trainer.h"

namespace htfm {
namespace {

Dataset table(int64_t rows = 1200) {
  const StudentT law{.nu = 4, .location = {0, 1, 5}, .root = {1, 0, 0, 0.5, 1, 0, 0, 0, 3}};
  return {.rows = law.sample(Key(1), rows), .names = {"a", "b", "c"}, .hash = "rows", .origin = "draws"};
}

// Trained for some steps: what is promised here does not depend on how good the model is.
RunConfig quick(const std::string& normalise) {
  return with_settings(
      {}, {"data.path=(none)", "data.kind=table", "data.normalise=" + normalise, "train.epochs=30", "train.batch=256",
           "net.width=32", "clock.family=deterministic", "sample.nfe=6", "sample.solver=ab2"});
}

const Model& scored() {
  static const Model model = [] {
    Model m = train(quick("scores"), table());
    SampleOptions o = sample_options(m.config());
    o.n = 100000;
    calibrated_sample(m, o);
    return m;
  }();
  return model;
}

RiskOptions options() {
  static const Dataset rows = table();
  RiskOptions o;
  o.rows = &rows, o.n = 40000, o.rounds = 40;
  return o;
}

TEST(Risk, ColumnsHaveTheirOwnLaws) {
  const RiskReport r = risk(scored(), options());
  ASSERT_EQ(r.losses.size(), 3u);
  EXPECT_EQ(r.uncertainty, RiskUncertainty::tail_fit);
  for (int64_t k = 0; k < 3; ++k) {
    const Margin& law = scored().transform().margin(k);
    ASSERT_TRUE(r.losses[static_cast<size_t>(k)].exact);
    for (const RiskMeasure& m : r.losses[static_cast<size_t>(k)].measures) {
      EXPECT_DOUBLE_EQ(m.quantile.value, law.value({1 - m.p, true}));
      EXPECT_DOUBLE_EQ(m.sfall.value, law.mean_beyond(1 - m.p, true));
      EXPECT_TRUE(m.quantile.low < m.quantile.value && m.quantile.value < m.quantile.high);
      EXPECT_LT(m.quantile.value, m.sfall.value);
    }
  }
  ASSERT_EQ(r.pairs.size(), 3u);
  for (const JointRisks& pair : r.pairs)
    for (const JointRisk& j : pair.levels) {
      EXPECT_GE(j.both.value, 0);
      EXPECT_LE(j.both.value, 1 - j.p + 1e-9);
      EXPECT_NEAR(j.both.value, j.second_given_first.value * (1 - j.p), 2e-4);
    }
  EXPECT_EQ(r.stress.size(), 3u);
  EXPECT_EQ(r.samples.size(0), 40000);
}

// A portfolio is measured by samples, a column by its law: of one column they must agree.
TEST(Risk, APortfolioOfOneColumnIsThatColumn) {
  RiskOptions o = options();
  o.portfolio = {{"b", -2.0}}, o.losses = "low,b=high,portfolio=low";
  const RiskReport r = risk(scored(), o);
  const RiskLoss &b = r.losses[1], &sum = r.losses[3];
  EXPECT_TRUE(b.high && !sum.high && r.with_portfolio && !sum.exact);
  const Margin& law = scored().transform().margin(1);
  for (size_t i = 0; i < b.measures.size(); ++i) {
    const double q = 1 - b.measures[i].p, n = 40000;
    // The error of a sample quantile at q is that of its place: sqrt(q / n), here 4 of them and the calibration's.
    const double off = 4 * std::sqrt(q / n) + 0.1 * q;
    EXPECT_LE(sum.measures[i].quantile.value, -2 * law.value({q + off, true})) << i;
    EXPECT_GE(sum.measures[i].quantile.value, -2 * law.value({std::max(q - off, q / 10), true})) << i;
  }
  const StressTable& stress = r.stress.back();
  EXPECT_EQ(stress.given, 3);
  EXPECT_NEAR(stress.rows[3].mean.value, -2 * stress.rows[1].mean.value, 1e-9);
}

// Beyond plain samples rare ones take over: of one column they must agree with its law, within a factor of 2 in
// probability, which is what the calibration of so short a training is good for there.
TEST(Risk, RareSamplesGoOnWherePlainOnesEnd) {
  RiskOptions o = options();
  o.portfolio = {{"a", 3.0}}, o.levels = {0.99, 0.99999}, o.n = 20000, o.rounds = 20;
  const RiskReport r = risk(scored(), o);
  const RiskMeasure& m = r.losses[3].measures[1];
  const Margin& law = scored().transform().margin(0);
  EXPECT_GT(m.quantile.value, 3 * law.value({2e-5, true}));
  EXPECT_LT(m.quantile.value, 3 * law.value({5e-6, true}));
  EXPECT_GT(m.sfall.value, m.quantile.value);
  EXPECT_TRUE(m.quantile.low < m.quantile.value && m.quantile.value < m.quantile.high);
  EXPECT_TRUE(std::isnan(r.pairs[0].levels[1].both.value)) << "pairs have plain samples alone";
}

TEST(Risk, OfATableWithCategoriesAndGaps) {
  Dataset data = table();
  double* x = data.rows.mutable_data_ptr<double>();
  for (int64_t i = 0; i < data.rows.size(0); ++i) {
    if (i % 20 == 3) x[3 * i + 1] = std::nan("");
    x[3 * i + 2] = static_cast<double>(i % 3);
  }
  data.columns.resize(3);
  data.columns[2] = {.kind = ColumnKind::category, .categories = {"x", "y", "z"}};
  Model model = train(quick("scores"), data);
  SampleOptions sampling = sample_options(model.config());
  sampling.n = 20000;
  calibrated_sample(model, sampling);
  RiskOptions o = options();
  o.rows = &data, o.n = 10000, o.portfolio = {{"b", 1.0}};
  const RiskReport r = risk(model, o);
  ASSERT_EQ(r.losses.size(), 3u);  // a, b and the portfolio: a category is no loss
  EXPECT_TRUE(r.losses[0].exact && !r.losses[1].exact);
  for (const RiskLoss& l : r.losses)
    EXPECT_TRUE(l.measures[1].quantile.has_interval() && std::isfinite(l.measures[1].sfall.value)) << l.name;
  EXPECT_EQ(r.losses[1].measures[1].quantile.value, r.losses[2].measures[1].quantile.value);
  EXPECT_LT(r.samples.size(0), 10000) << "samples with a missing value are left out";
  EXPECT_TRUE(std::isfinite(r.pairs[0].levels[0].rows.value));
}

TEST(Risk, IsAFunctionOfTheSeedAndNotOfThreads) {
  RiskOptions o = options();
  o.rounds = 20, o.n = 4000, o.levels = {0.95, 0.99}, o.return_periods = {100};
  o.portfolio = {{"a", 1.0}, {"c", 0.5}};
  RiskReport first = risk(scored(), o);
  const int threads = thread_count();
  set_thread_count(threads == 1 ? 3 : 1);
  RiskReport second = risk(scored(), o);
  set_thread_count(threads);
  const auto a = figures_of(first), b = figures_of(second);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i]->value == b[i]->value || std::isnan(a[i]->value));
    EXPECT_TRUE(a[i]->low == b[i]->low || std::isnan(a[i]->low));
  }
  o.seed = 5;
  EXPECT_NE(risk(scored(), o).losses[3].measures[0].quantile.value, first.losses[3].measures[0].quantile.value);
}

TEST(Risk, WithoutTheRowsTheModelStandsInForThem) {
  RiskOptions o = options();
  o.n = 10000, o.rounds = 60;
  const RiskReport with = risk(scored(), o);
  o.rows = nullptr;
  const RiskReport without = risk(scored(), o);
  EXPECT_EQ(without.uncertainty, RiskUncertainty::tail_fit);
  EXPECT_EQ(without.training_rows, 0);
  EXPECT_TRUE(std::isnan(without.pairs[0].levels[0].rows.value));
  for (size_t k = 0; k < 3; ++k) {
    const Scored &a = with.losses[k].measures[3].quantile, &b = without.losses[k].measures[3].quantile;
    EXPECT_EQ(a.value, b.value);
    EXPECT_NEAR(std::log((b.high - b.low) / (a.high - a.low)), 0, 0.7) << "the same width within a factor of 2";
  }
  const Dataset other{.rows = table().rows, .names = {"a", "b", "c"}, .hash = "others"};
  o.rows = &other;
  EXPECT_THROW(risk(scored(), o), InputError);
}

// Without scores the samples are the model's own and the rows' laws only move them.
TEST(Risk, OfAModelWithoutScores) {
  const Model model = train(quick("robust"), table());
  RiskOptions o = options();
  o.n = 20000;
  const RiskReport r = risk(model, o);
  EXPECT_EQ(r.uncertainty, RiskUncertainty::tail_fit);
  for (const RiskLoss& l : r.losses) {
    EXPECT_FALSE(l.exact);
    for (const RiskMeasure& m : l.measures)
      EXPECT_TRUE(m.quantile.low <= m.quantile.value && m.quantile.has_interval());
  }
  const at::Tensor worst = scenarios(r, "b", 0.99);
  ASSERT_EQ(worst.size(0), 200);
  for (int64_t i = 0; i < 200; ++i) {
    const double x = worst.const_data_ptr<double>()[i * 3 + 1];
    EXPECT_GE(x, r.losses[1].measures[1].quantile.value);
    const double before = i > 0 ? worst.const_data_ptr<double>()[(i - 1) * 3 + 1] : x;
    EXPECT_LE(x, before);
  }
  o.rows = nullptr;
  EXPECT_EQ(risk(model, o).uncertainty, RiskUncertainty::samples);
  o.refits = 2;
  EXPECT_THROW(risk(model, o), InputError) << "there are no rows to refit to";
}

TEST(Risk, RefitsNeverNarrowAnInterval) {
  RiskOptions o = options();
  o.n = 4000, o.rounds = 30;
  RiskReport before = risk(scored(), o);
  o.refits = 2;
  RiskReport after = risk(scored(), o);
  EXPECT_EQ(after.uncertainty, RiskUncertainty::refits);
  const auto a = figures_of(before), b = figures_of(after);
  int wider = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i]->has_interval()) continue;
    EXPECT_EQ(a[i]->value, b[i]->value);
    EXPECT_LE(b[i]->low, a[i]->low + 1e-12 * std::abs(a[i]->low));
    EXPECT_GE(b[i]->high, a[i]->high - 1e-12 * std::abs(a[i]->high));
    wider += b[i]->high > a[i]->high * (1 + 1e-9);
  }
  EXPECT_GT(wider, 0);
}

TEST(Risk, RefusesWhatMakesNoSense) {
  const auto refused = [&](auto change) {
    RiskOptions o = options();
    change(o);
    EXPECT_THROW(risk(scored(), o), InputError);
  };
  refused([](RiskOptions& o) { o.levels = {0.3}; });
  refused([](RiskOptions& o) { o.levels = {1.0}; });
  refused([](RiskOptions& o) { o.return_periods = {1}; });
  refused([](RiskOptions& o) { o.losses = "left"; });
  refused([](RiskOptions& o) { o.losses = "d=low"; });
  refused([](RiskOptions& o) { o.portfolio = {{"d", 1.0}}; });
  refused([](RiskOptions& o) { o.stress = {"d"}; });
  refused([](RiskOptions& o) { o.n = 10; });
  refused([](RiskOptions& o) { o.rounds = 1; });
  EXPECT_THROW(scenarios(risk(scored(), options()), "d", 0.99), InputError);
}

}  // namespace
}  // namespace htfm
