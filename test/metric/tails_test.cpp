// Tail figures on exact laws, and the scores by name.
#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/metric/metric.h"
#include "test/metric/support.h"

namespace htfm {
namespace {

std::vector<double> sorted_pareto(int64_t n, double alpha, Key key) {
  std::vector<double> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::pow(key.uniform(i), -1 / alpha);
  std::sort(values.begin(), values.end());
  return values;
}

TEST(Hill, FindsTheIndexOfAPowerLaw) {
  for (const double alpha : {0.5, 1.5, 3.0}) {
    const HillIndex hill = hill_index(sorted_pareto(200000, alpha, Key(1)), 1000);
    EXPECT_EQ(hill.points, 1000);
    EXPECT_NEAR(hill.standard_error, hill.index / std::sqrt(1000.0), 1e-12);
    EXPECT_NEAR(hill.index, alpha, 4 * alpha / std::sqrt(1000.0));
  }
}

TEST(Hill, UnchangedByScale) {
  std::vector<double> values = sorted_pareto(5000, 2, Key(2));
  const double index = hill_index(values, 50).index;
  for (double& v : values) v *= 0x1p20;
  EXPECT_EQ(hill_index(values, 50).index, index);
}

TEST(Hill, SaysWhereThereIsNoTail) {
  const std::vector<double> values = {0, 0, 1, 2, 3}, equal = {2, 2, 2, 2};
  for (const int64_t points : {-1, 0, 1, 3, 5, 9}) EXPECT_TRUE(std::isnan(hill_index(values, points).index)) << points;
  EXPECT_TRUE(std::isnan(hill_index(equal, 2).index));
  EXPECT_NEAR(hill_index(values, 2).index, 2 / std::log(6.0), 1e-12);
}

TEST(Quantile, LinearBetweenOrderStatistics) {
  const std::vector<double> values = {1, 2, 4, 8};
  EXPECT_EQ(quantile_of_sorted(values, 0), 1);
  EXPECT_EQ(quantile_of_sorted(values, 1), 8);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.9), 8 * 0.7 + 4 * 0.3);
  EXPECT_THROW(quantile_of_sorted(values, 1.5), InputError);
  EXPECT_THROW(quantile_of_sorted({}, 0.5), InputError);
}

TEST(SurvivalCurve, IsThatOfTheValues) {
  for (const int64_t n : {1, 7, 5000}) {
    const std::vector<double> values = sorted_pareto(n, 1.5, Key(3));
    const SurvivalCurve curve = survival_curve(values, 300);
    ASSERT_FALSE(curve.value.empty());
    ASSERT_LE(curve.value.size(), 300u);
    EXPECT_EQ(curve.survival.front(), 1.0);
    EXPECT_EQ(curve.value.back(), values.back());
    EXPECT_DOUBLE_EQ(curve.survival.back(), 1.0 / static_cast<double>(n));
    for (size_t i = 0; i < curve.value.size(); ++i) {
      const auto at_least = values.end() - std::lower_bound(values.begin(), values.end(), curve.value[i]);
      EXPECT_DOUBLE_EQ(curve.survival[i], static_cast<double>(at_least) / static_cast<double>(n));
      EXPECT_TRUE(i == 0 || curve.value[i] > curve.value[i - 1]);
    }
  }
}

/// Pairs x, -x: the median is 0.
Points symmetric_points(int64_t pairs, int64_t dim, Key key) {
  Points points = stable_points(pairs, dim, 1.5, key);
  std::vector<double> mirrored = points.x;
  for (double& x : mirrored) x = -x;
  points.x.insert(points.x.end(), mirrored.begin(), mirrored.end());
  points.n *= 2;
  return points;
}

TEST(Tails, SeeAScaleAboutTheCentre) {
  Points real = symmetric_points(10000, 3, Key(4)), fake = real;
  for (double& x : fake.x) x = 2 * x + 7;
  for (double& x : real.x) x = x + 7;
  const TailScore score = tails(real, fake);
  ASSERT_EQ(score.log_ratio.size(), 3u);
  for (const double c : score.center) EXPECT_NEAR(c, 7, 1e-12);
  for (const double ratio : score.log_ratio) EXPECT_NEAR(ratio, std::log(2.0), 1e-9);
  EXPECT_NEAR(score.real.hill.index, score.fake.hill.index, 1e-9);
  EXPECT_EQ(score.real.hill.points, 100);
  for (const double ratio : tails(real, real).log_ratio) EXPECT_EQ(ratio, 0.0);
}

TEST(Tails, QuantilesBeyondTheSampleAreNotMadeUp) {
  const Points real = normal_points(1000, 2, Key(5)), fake = normal_points(20000, 2, Key(6));
  const TailScore score = tails(real, fake);
  EXPECT_FALSE(std::isnan(score.log_ratio[0]));
  EXPECT_FALSE(std::isnan(score.log_ratio[1]));
  EXPECT_TRUE(std::isnan(score.log_ratio[2]));
  EXPECT_FALSE(std::isnan(score.fake.quantiles[2]));
}

TEST(Tails, BadOptionsAreRefused) {
  const Points set = normal_points(100, 2, Key(7));
  TailOptions options;
  options.tail_fraction = 0;
  EXPECT_THROW(tails(set, set, options), InputError);
  options = {};
  options.levels = {1.0};
  EXPECT_THROW(tails(set, set, options), InputError);
  EXPECT_THROW(tails(set, normal_points(100, 3, Key(8))), InputError);
}

TEST(Metrics, AllByDefaultInTheOrderOfTheRegistry) {
  const Points real = stable_points(1500, 2, 1.5, Key(9)), fake = stable_points(1400, 2, 1.5, Key(10));
  const MetricReport report = compute_metrics({}, to_tensor(real, at::kFloat), to_tensor(fake));
  std::vector<std::string> names;
  for (const MetricValue& entry : report.values) names.push_back(entry.name);
  const std::vector<std::string> expected = {
      "n_real",        "n_fake",      "nonfinite",    "f1_knn",    "precision_knn", "recall_knn", "f1_prd",
      "precision_prd", "recall_prd",  "w1_pooled",    "w1_sliced", "w1_sliced_se",  "mmd",        "mmd_bandwidth",
      "log_q_0.99",    "log_q_0.999", "log_q_0.9999", "hill_real", "hill_real_se",  "hill_fake",  "hill_fake_se"};
  ASSERT_GT(names.size(), expected.size());
  EXPECT_EQ(std::vector<std::string>(names.begin(), names.begin() + static_cast<int64_t>(expected.size())), expected);
  for (const char* name : {"msle_x2", "log_q_0.99_x1_below", "tail_index_error", "kr", "sr_x2", "tail_ks_columns",
                           "exceed_x1_above", "chi_error_0.95_above", "chi_fake_0.99_x1_x2_below"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << "a name stands once";
  EXPECT_EQ(report["n_real"], 1500);
  EXPECT_EQ(report["n_fake"], 1400);
  EXPECT_EQ(report["f1_prd"], report.prd->f1);
  EXPECT_EQ(report["hill_real"], report.tails->real.hill.index);
  EXPECT_THROW(report["f1"], Error);
  const MetricReport part = compute_metrics({"mmd", "f1_knn"}, to_tensor(real), to_tensor(fake));
  EXPECT_EQ(part["f1_knn"], f1_knn(real, fake).f1);
  EXPECT_EQ(part["mmd"], mmd(real, fake).value);
  EXPECT_FALSE(part.prd.has_value());
  EXPECT_EQ(metric_infos().size(), 12u);
}

TEST(Metrics, SeedReachesEveryRandomScore) {
  const at::Tensor real = to_tensor(stable_points(3000, 2, 1.5, Key(11))),
                   fake = to_tensor(stable_points(3000, 2, 1.8, Key(12)));
  MetricOptions options;
  options.mmd.points = 500;
  const MetricReport first = compute_metrics({}, real, fake, options), again = compute_metrics({}, real, fake, options);
  options.set_seed(1);
  const MetricReport other = compute_metrics({}, real, fake, options);
  for (const char* name : {"f1_prd", "w1_sliced", "mmd"}) {
    EXPECT_EQ(first[name], again[name]) << name;
    EXPECT_NE(first[name], other[name]) << name;
  }
  for (const char* name : {"f1_knn", "w1_pooled", "hill_fake"}) EXPECT_EQ(first[name], other[name]) << name;
}

TEST(Metrics, DivergedSamplesAreCountedAndLeftOut) {
  const Points real = normal_points(500, 2, Key(13)), fake = normal_points(400, 2, Key(14));
  Points broken = fake;
  for (const double bad : {double{NAN}, double{INFINITY}, -double{INFINITY}, 1e200}) {
    broken.x.insert(broken.x.begin() + 100, {1.0, bad});
    ++broken.n;
  }
  const MetricReport report = compute_metrics({}, to_tensor(real), to_tensor(broken)),
                     clean = compute_metrics({}, to_tensor(real), to_tensor(fake));
  EXPECT_EQ(report["nonfinite"], 4);
  EXPECT_EQ(report.nonfinite, 4);
  EXPECT_EQ(report["n_fake"], 400);
  EXPECT_EQ(report["f1_knn"], clean["f1_knn"]);
  EXPECT_EQ(report["w1_sliced"], clean["w1_sliced"]);
}

TEST(Metrics, BadInputIsNamed) {
  const auto message_of = [](const std::vector<std::string>& names, const at::Tensor& real,
                             const at::Tensor& fake) -> std::string {
    try {
      compute_metrics(names, real, fake);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no InputError";
  };
  const at::Tensor good = to_tensor(normal_points(50, 2, Key(15)));
  at::Tensor broken = good.clone();
  broken.mutable_data_ptr<double>()[2 * 31] = NAN;
  EXPECT_NE(message_of({}, broken, good).find("real] row 32, column 1 (counted from 1): expected a number"),
            std::string::npos);
  at::Tensor hopeless = good.clone();
  hopeless.fill_(NAN);
  EXPECT_NE(message_of({}, good, hopeless).find("none in 50 rows"), std::string::npos);
  EXPECT_NE(
      message_of({"f1_kn"}, good, good)
          .find(
              "expected one of f1_knn, f1_prd, w1_pooled, w1_sliced, mmd, tails, tail_quantiles, tail_index, moments, "
              "tail_ks, exceedances, tail_dependence; got 'f1_kn'"),
      std::string::npos);
}

}  // namespace
}  // namespace htfm
