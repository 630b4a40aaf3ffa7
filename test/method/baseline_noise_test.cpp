#include "htfm/base/error.h"
#include "test/method/baseline_support.h"
#include "test/statistics.h"

namespace htfm {
namespace {

const std::vector<double> kAlphas{1.5, 1.6, 1.7, 1.8, 1.9, 2.0};

// n noises of dimension 2 as training draws them, with their mixing variables.
struct Drawn {
  std::vector<double> eps, mixing;
};
Drawn draw(const Method& method, int64_t n) {
  RunningStandardiser none(0);
  const PairPlan r = method.plan_pairs(Key(11), {at::empty({n, 2}, at::kFloat).zero_(), {}, 0}, none);
  const at::Tensor points = r.points();
  const double *x = points.const_data_ptr<double>(), *a = r.source.area.const_data_ptr<double>();
  Drawn out{{x, x + 2 * n}, {a, a + n}};
  for (double& v : out.mixing) v *= 2;
  return out;
}

TEST(BaselineNoise, CharacteristicFunction) {
  const int64_t n = 200000;
  for (const double alpha : kAlphas) {
    const Drawn d = draw(*test::method_for("dlpm", alpha), n);
    for (const auto& [u, v] : {std::pair{0.3, 0.0}, {0.0, 1.0}, {0.6, -0.8}, {1.5, 1.0}}) {
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double c = std::cos(u * d.eps[2 * i] + v * d.eps[2 * i + 1]);
        sum += c, squares += c * c;
      }
      const double mean = sum / n, error = std::sqrt((squares / n - mean * mean) / n);
      EXPECT_NEAR(mean, std::exp(-std::pow(std::hypot(u, v), alpha)), 4 * error) << alpha;
    }
  }
}

TEST(BaselineNoise, ShareOfLargeMixingVariables) {
  const int64_t n = 1000000;
  // Known to two digits: half a unit of the last one is allowed for.
  for (const auto& [alpha, share, digit] : {std::tuple{1.5, 0.054, 5e-4},
                                            {1.6, 0.038, 5e-4},
                                            {1.7, 0.025, 5e-4},
                                            {1.8, 0.015, 5e-4},
                                            {1.9, 0.0064, 5e-5}}) {
    const std::vector<double> a = draw(*test::method_for("lim", alpha), n).mixing;
    const auto beyond = static_cast<double>(std::count_if(a.begin(), a.end(), [](double v) { return v > 20; })) / n;
    EXPECT_NEAR(beyond, share, digit + 4 * std::sqrt(share / n)) << alpha;
  }
  for (const double a : draw(*test::method_for("dlpm", 2), 100).mixing) EXPECT_NEAR(a, 2, 1e-12);
}

TEST(BaselineNoise, StudentNoise) {
  for (const double nu : {3.0, 5.0}) {
    const Drawn d = draw(*test::method_for("tflow", nu), 50000);
    std::vector<double> first;
    for (size_t i = 0; i < d.eps.size(); i += 2) first.push_back(d.eps[i]);
    EXPECT_LT(test::kolmogorov_smirnov(first, [&](double x) { return test::student_cdf(nu, x); }),
              test::kKolmogorovBound)
        << nu;
  }
}

TEST(BaselineNoise, ClampsCutOnlyWhatIsBeyondThem) {
  MethodOptions o;
  o.clamp_a = 20, o.clamp_eps = 6;
  const Drawn cut = draw(*test::method_for("dlpm", 1.5, o), 20000), whole = draw(*test::method_for("dlpm", 1.5), 20000);
  for (size_t i = 0; i < cut.mixing.size(); ++i) {
    EXPECT_EQ(cut.mixing[i], std::min(whole.mixing[i], 20.0));
    for (size_t k = 2 * i; k < 2 * i + 2; ++k) {
      EXPECT_LE(std::abs(cut.eps[k]), 6);
      if (whole.mixing[i] <= 20 && std::abs(whole.eps[k]) <= 6) {
        EXPECT_EQ(cut.eps[k], whole.eps[k]);
      }
    }
  }
  EXPECT_NE(test::method_for("dlpm", 1.5, o)->describe().find("A clamped at 20, noise clamped at 6"),
            std::string::npos);
}

TEST(BaselineNoise, RefusesLawsWithoutTheMomentsItNeeds) {
  const auto message = [](const std::string& method, const FlowMatchingSpec& spec) {
    try {
      make_method(method, spec, {});
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message("tflow", test::noise_spec(2, true)).find("no variance"), std::string::npos);
  EXPECT_NE(message("tedm", test::noise_spec(1.7, true)).find("no variance"), std::string::npos);
  EXPECT_NE(message("dlpm", test::noise_spec(1, false)).find("no mean"), std::string::npos);
  EXPECT_NE(message("lim", test::noise_spec(3, true)).find("clock.family"), std::string::npos);
  EXPECT_NE(message("tflow", test::noise_spec(1.5, false)).find("clock.family"), std::string::npos);
  EXPECT_NE(message("ddpm", {}).find("expected one of htfm, dlpm, dlim, lim, tflow, tedm"), std::string::npos);
}

// What the network is trained on is a y + b n at the time it is told, and its target the mixture of y and n that the
// method predicts.
TEST(BaselineRecipe, MixesDataAndNoiseAsDefined) {
  const int64_t n = 4000;
  at::Tensor data = at::empty({n, 2}, at::kFloat);
  fill_normal(Key(1), 0, 2 * n, data.mutable_data_ptr<float>());
  for (const auto& [name, parameter] :
       {std::pair{"dlpm", 1.5}, {"dlim", 1.8}, {"lim", 1.7}, {"dlpm", 2.0}, {"tflow", 3.0}, {"tedm", 5.0}}) {
    const auto method = test::method_for(name, parameter);
    RunningStandardiser none(0);
    const PairPlan r = method->plan_pairs(Key(4), {data, {}, 0}, none);
    const TrainingPairs p = method->pairs(Key(4), {data, {}, 0}, none);
    EXPECT_FALSE(p.feature.defined());
    const at::Tensor points = r.points();
    for (int64_t i = 0; i < n; ++i) {
      const PairCoefficients& row = r.rows[static_cast<size_t>(i)];
      const test::Mixing m = test::mixing_of(name, parameter, row.time);
      EXPECT_NEAR(row.data_in, m.a, 1e-9) << name;
      EXPECT_NEAR(row.source_in, m.b, 1e-9) << name;
      EXPECT_NEAR(row.data_target, m.data_target, 1e-9 * (1 + std::abs(m.data_target))) << name;
      EXPECT_NEAR(row.source_target, m.source_target, 1e-9) << name;
      const double y = data.const_data_ptr<float>()[2 * i], e = points.const_data_ptr<double>()[2 * i];
      EXPECT_NEAR(p.x.const_data_ptr<float>()[2 * i], m.a * y + m.b * e, 1e-6 * (1 + std::abs(y) + std::abs(e)))
          << name;
      EXPECT_NEAR(p.target.const_data_ptr<float>()[2 * i], m.data_target * y + m.source_target * e,
                  1e-5 * (1 + std::abs(y) + std::abs(e)));
    }
  }
}

// DLPM's times are 1..T-1 over T, each equally likely; the noise levels of t-EDM are log-normal.
TEST(BaselineRecipe, LawsOfTheTimes) {
  const int64_t n = 100000;
  const at::Tensor data = at::empty({n, 1}, at::kFloat).zero_();
  RunningStandardiser none(0);
  MethodOptions o;
  o.steps = 11;
  std::vector<double> counts(11);
  for (const PairCoefficients& r : test::method_for("dlpm", 1.7, o)->plan_pairs(Key(2), {data, {}, 0}, none).rows)
    counts.at(static_cast<size_t>(std::lround(r.time * 11))) += 1;
  EXPECT_EQ(counts[0], 0);
  for (size_t k = 1; k < 11; ++k) EXPECT_NEAR(counts[k], n / 10.0, 4 * std::sqrt(n / 10.0));
  std::vector<double> level;
  for (const PairCoefficients& r : test::method_for("tedm", 4)->plan_pairs(Key(2), {data, {}, 0}, none).rows)
    level.push_back((4 * r.time - 0.5 * std::log(2.0) + 1.2) / 1.2);  // sqrt(nu / (nu - 2)) = sqrt(2)
  EXPECT_LT(test::kolmogorov_smirnov(level, test::normal_cdf), test::kKolmogorovBound);
}

// Median of means: a data row meets `outer` mixing variables with `inner` noises each, at one time.
TEST(BaselineRecipe, GroupsOfTheMedianLoss) {
  MethodOptions o;
  o.loss = "median", o.outer = 3, o.inner = 2;
  at::Tensor data = at::empty({50, 2}, at::kFloat);
  fill_normal(Key(1), 0, 100, data.mutable_data_ptr<float>());
  RunningStandardiser none(0);
  const PairPlan r = test::method_for("dlpm", 1.7, o)->plan_pairs(Key(4), {data, {}, 0}, none);
  ASSERT_EQ(r.data.size(0), 300);
  const at::Tensor points = r.points();
  const double *area = r.source.area.const_data_ptr<double>(), *x = points.const_data_ptr<double>();
  for (int64_t i = 0; i < 300; ++i) {
    EXPECT_EQ(r.data.const_data_ptr<float>()[2 * i], data.const_data_ptr<float>()[i / 6 * 2]);
    EXPECT_EQ(r.rows[static_cast<size_t>(i)].time, r.rows[static_cast<size_t>(i / 6 * 6)].time);
    if (i == 0) continue;
    EXPECT_EQ(area[i] == area[i - 1], i % 2 == 1);
    EXPECT_NE(x[2 * i], x[2 * i - 2]);
  }
}

}  // namespace
}  // namespace htfm
