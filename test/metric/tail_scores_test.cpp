#include "htfm/metric/tail_scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/metric.h"
#include "test/metric/support.h"

namespace htfm {
namespace {

/// Symmetric columns with Pareto tails: +-U^(-1/alpha), about their median 0 after mirroring.
Points pareto_points(int64_t pairs, int64_t dim, double alpha, Key key, double scale = 1) {
  Points points{2 * pairs, dim, {}};
  for (int64_t i = 0; i < pairs * dim; ++i)
    points.x.push_back(scale * std::pow(key.uniform(static_cast<uint64_t>(i)), -1 / alpha));
  for (int64_t i = 0; i < pairs * dim; ++i) points.x.push_back(-points.x[static_cast<size_t>(i)]);
  return points;
}

bool covers(const Scored& s, double truth) { return s.low <= truth && truth <= s.high; }

TEST(TailScores, OfASetAgainstItself) {
  const Points set = stable_points(20000, 2, 1.5, Key(1));
  const TailScores s = tail_scores(set, set);
  ASSERT_EQ(s.columns.size(), 2u);
  for (const ViewScore* v : {&s.radius, &s.columns[0].both, &s.columns[1].above, &s.columns[1].below}) {
    for (const Scored& q : v->log_q) EXPECT_TRUE(q.value == 0 && covers(q, 0) && q.high > q.low);
    EXPECT_TRUE(v->msle.value == 0 && v->ks.value == 0 && v->index_error.value == 0 && v->share.value == 1);
    EXPECT_TRUE(covers(v->msle, 0) && covers(v->ks, 0) && covers(v->index_error, 0) && covers(v->share, 1));
    EXPECT_EQ(v->exceedances.count.value, 0);
    EXPECT_NEAR(v->exceedances.expected, 1, 1e-4);
    EXPECT_EQ(v->exceedances.p_more, 1);
    EXPECT_NEAR(v->exceedances.p_fewer, 0.5, 1e-4);
  }
  EXPECT_EQ(s.mean_ks.value, 0);
}

TEST(TailScores, SeeAScale) {
  const Points real = pareto_points(20000, 2, 1.5, Key(2));
  Points fake = real;
  for (double& x : fake.x) x *= 2;
  const TailScores s = tail_scores(real, fake);
  const double log2 = std::log(2.0);
  for (const ViewScore* v : {&s.radius, &s.columns[0].both, &s.columns[1].above, &s.columns[1].below}) {
    for (const Scored& q : v->log_q) EXPECT_NEAR(q.value, log2, 1e-9);
    EXPECT_NEAR(v->msle.value, log2 * log2, 1e-9);
    EXPECT_NEAR(v->index_error.value, 0, 1e-9);
    EXPECT_EQ(v->exceedances.count.value > 0, true);
  }
  for (const Scored& q : s.mean_log_q) EXPECT_NEAR(q.value, log2, 1e-9);
  // Twice a Pareto variable lies beyond a level 2^1.5 times as often; beyond the level both laws are the same.
  const double beyond = 40000 * 0.001, share = std::pow(2, 1.5);
  EXPECT_NEAR(s.columns[0].both.share.value, share, 4 * share * std::sqrt(1 / beyond + 1 / (share * beyond)));
  EXPECT_TRUE(covers(s.columns[0].both.share, share));
  EXPECT_LT(s.columns[0].ks.value, 0.6);
}

TEST(TailScores, AgreeWithTheFiguresOfTails) {
  const Points real = stable_points(30000, 3, 1.5, Key(3)), fake = stable_points(20000, 3, 1.8, Key(4));
  const TailScore t = tails(real, fake);
  const TailScores s = tail_scores(real, fake, {.columns = false});
  EXPECT_TRUE(s.columns.empty());
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(s.radius.log_q[i].value, t.log_ratio[i], 1e-12);
  EXPECT_NEAR(s.radius.index_error.value, t.fake.hill.index / t.real.hill.index - 1, 1e-9);
}

// A quantile of a Pareto law has log-variance p / (n (1 - p) alpha^2), Hill's index a relative variance of 1/k.
TEST(TailScores, IntervalsHaveTheWidthOfTheory) {
  const int64_t n = 200000, m = 100000;
  const Points real = pareto_points(n / 2, 1, 2, Key(5)), fake = pareto_points(m / 2, 1, 2, Key(6));
  const TailScores s = tail_scores(real, fake, {.bootstrap = {.rounds = 2000}});
  const double k = 0.005 * (1 / (1.0 / n + 1.0 / m)), width = 2 * 1.96;
  // Mirrored points: each side is an independent sample of half the size.
  EXPECT_NEAR(s.columns[0].above.index_error.high - s.columns[0].above.index_error.low, width / std::sqrt(k),
              0.12 * width / std::sqrt(k));
  // The bootstrap variance of a quantile has itself a relative error of about (n (1 - p))^(-1/4), 0.15 here.
  const double deviation = std::sqrt(0.99 / 0.01 * (1.0 / n + 1.0 / m)) / 2;
  EXPECT_NEAR(s.columns[0].above.log_q[0].high - s.columns[0].above.log_q[0].low, width * deviation,
              0.6 * width * deviation);
}

// In 95 of 100 draws the interval holds the truth, within 4 standard errors and 3 % for the bootstrap's own error at
// this size.
TEST(TailScores, IntervalsCoverTheTruth) {
  const int draws = 300;
  int quantile = 0, index = 0, share = 0, msle = 0, ks = 0;
  TailScoreOptions options{.levels = {0.95, 0.99}, .msle_levels = {0.95, 0.99}, .tail_fraction = 0.05, .cut = 0.98};
  const double scale = 1.3, alpha = 2, ratio = 1.25;  // tail indices 2 and 2.5
  for (int i = 0; i < draws; ++i) {
    const Key key = Key(7).child(static_cast<uint64_t>(i));
    options.bootstrap.seed = static_cast<uint64_t>(i);
    const auto draw = [&](const char* name, int64_t n, double a, double s) {
      Points p{n, 1, {}};
      // Signs in turn: the median lies between them, and the radius about 0 is Pareto.
      for (int64_t r = 0; r < n; ++r) {
        const double v = s * std::pow(key.child(name).uniform(static_cast<uint64_t>(r)), -1 / a);
        p.x.push_back(r % 2 ? v : -v);
      }
      return p;
    };
    options.columns = false;
    Points real = draw("real", 2000, alpha, 1), fake = draw("fake", 3000, alpha * ratio, scale);
    for (int64_t r = 0; r < 2; ++r) real.x.push_back(r % 2 ? 1e-9 : -1e-9), ++real.n;  // pins the median at 0
    const TailScores s = tail_scores(real, fake, options);
    const double truth = std::log(scale) + std::log(100) * (1 / (alpha * ratio) - 1 / alpha);
    const double truth95 = std::log(scale) + std::log(20) * (1 / (alpha * ratio) - 1 / alpha);
    quantile += covers(s.radius.log_q[1], truth);
    index += covers(s.radius.index_error, ratio - 1);
    msle += covers(s.radius.msle, (truth * truth + truth95 * truth95) / 2);
    const double cut = std::pow(0.02, -1 / alpha), beyond = std::pow(cut / scale, -alpha * ratio) / 0.02;
    share += covers(s.radius.share, beyond);
    // Beyond the cut both are Pareto: the distance of t^-a and t^-b is largest at t^(b-a) = b/a.
    const double a = alpha, b = alpha * ratio, t = std::pow(b / a, 1 / (b - a));
    ks += covers(s.radius.ks, std::pow(t, -a) - std::pow(t, -b));
  }
  const double fewest = draws * (0.95 - 4 * std::sqrt(0.95 * 0.05 / draws) - 0.03);
  EXPECT_GT(quantile, fewest);
  EXPECT_GT(index, fewest);
  EXPECT_GT(share, fewest);
  EXPECT_GT(msle, fewest);
  EXPECT_GT(ks, fewest);
  // And no more than that: an interval that always holds the truth says nothing.
  EXPECT_LT(quantile, draws);
  EXPECT_LT(index, draws);
  EXPECT_LT(share, draws);
}

TEST(TailScores, AFarTooHeavySetIsScored) {
  const Points real = normal_points(5000, 2, Key(8));
  const Points fake = normal_points(4000, 2, Key(9), 1000);
  const TailScores s = tail_scores(real, fake);
  EXPECT_NEAR(s.radius.share.value, 1000, 25);  // nearly every row; the share of the real ones is 5 of 5,000
  EXPECT_GT(s.radius.exceedances.count.value, 3900);
  EXPECT_LT(s.radius.exceedances.p_more, 1e-100);
  EXPECT_GT(s.radius.exceedances.count.low, 3900);
  EXPECT_GT(s.radius.ks.value, 0.9);
}

TEST(TailScores, UndefinedIsNotMadeUp) {
  const Points few = normal_points(300, 1, Key(10)), many = normal_points(30000, 1, Key(11));
  const TailScores s = tail_scores(few, many);
  EXPECT_TRUE(std::isfinite(s.radius.log_q[0].value) && s.radius.log_q[0].has_interval());
  EXPECT_TRUE(std::isnan(s.radius.log_q[1].value) && !s.radius.log_q[1].has_interval());
  EXPECT_TRUE(std::isnan(s.radius.msle.value));
  EXPECT_TRUE(std::isnan(s.radius.ks.value));
  EXPECT_FALSE(tail_scores(many, many, {.bootstrap = {.rounds = 0}}).radius.log_q[0].has_interval());
  EXPECT_THROW(tail_scores(few, many, {.levels = {1.0}}), InputError);
  EXPECT_THROW(tail_scores(few, many, {.cut = 0}), InputError);
}

TEST(TailScores, NonNegativeColumnsHaveNoLowerTail) {
  Points real = normal_points(20000, 1, Key(12)), fake = normal_points(20000, 1, Key(13));
  for (Points* p : {&real, &fake})
    for (double& x : p->x) x = std::exp(x);
  const TailScores s = tail_scores(real, fake);
  EXPECT_EQ(s.columns[0].ks.value, s.columns[0].above.ks.value);
}

TEST(TailScores, EverySmallSetPasses) {
  for (const int64_t n : {1, 2, 3, 10, 101})
    for (const int64_t m : {1, 2, 50}) {
      const MetricReport report = compute_metrics(
          {"tails", "tail_quantiles", "tail_index", "moments", "tail_ks", "exceedances", "tail_dependence"},
          to_tensor(lattice_points(n, 2, 3, Key(14))), to_tensor(lattice_points(m, 2, 3, Key(15))));
      EXPECT_NEAR(report["exceed_expected"], static_cast<double>(m) / static_cast<double>(n + 1), 1e-12);
    }
}

TEST(TailScores, NamesOfManyColumnsAreMeans) {
  const at::Tensor real = to_tensor(normal_points(2000, 10, Key(16))),
                   fake = to_tensor(normal_points(2000, 10, Key(17)));
  const MetricReport report = compute_metrics({"tail_quantiles", "moments", "tail_dependence"}, real, fake);
  EXPECT_EQ(report.tail_scores->columns.size(), 10u);
  EXPECT_EQ(report.dependence->pairs.size(), 45u);
  EXPECT_GT(report["log_q_0.99_columns"], 0);
  for (const MetricValue& v : report.values) EXPECT_EQ(v.name.find("_x1"), std::string::npos) << v.name;
  EXPECT_TRUE(compute_metrics({"tails"}, real, fake).tail_scores->columns.empty());
}

TEST(TailScores, SameBitsForAnyNumberOfThreadsAndOtherIntervalsForOtherSeeds) {
  const at::Tensor real = to_tensor(stable_points(5000, 2, 1.5, Key(18))),
                   fake = to_tensor(stable_points(4000, 2, 1.5, Key(19)));
  const std::vector<std::string> names = {"tails", "tail_index", "moments", "tail_ks", "tail_dependence"};
  MetricOptions options;
  set_thread_count(1);
  const MetricReport one = compute_metrics(names, real, fake, options);
  set_thread_count(3);
  const MetricReport three = compute_metrics(names, real, fake, options);
  set_thread_count(0);
  options.set_seed(5);
  const MetricReport other = compute_metrics(names, real, fake, options);
  int differ = 0;
  for (size_t i = 0; i < one.values.size(); ++i) {
    const MetricValue &a = one.values[i], &b = three.values[i], &c = other.values[i];
    EXPECT_TRUE(a.low == b.low || std::isnan(a.low)) << a.name;
    EXPECT_TRUE(a.value == c.value || std::isnan(a.value)) << a.name;
    differ += a.low != c.low && a.interval && !std::isnan(a.low);
  }
  EXPECT_GT(differ, 20);
}

}  // namespace
}  // namespace htfm
