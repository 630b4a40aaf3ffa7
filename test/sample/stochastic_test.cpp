// The stochastic sampler: with the exact velocity of Gaussian data it returns the data's law.
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"

namespace htfm {
namespace {

constexpr int64_t kRows = 40000;
constexpr double kMean = 0.7, kDeviation = 0.3;

// dy/du of y = sin(angle) x_1 + cos(angle) x_0, x_1 normal with this mean and deviation.
void gaussian(const double* y, const double* u, double* v) {
  for (int64_t i = 0; i < kRows; ++i) {
    const double s = std::sin(u[i] * M_PI / 2), c = std::cos(u[i] * M_PI / 2),
                 variance = s * s * kDeviation * kDeviation + c * c, off = (y[i] - s * kMean) / variance;
    v[i] = M_PI / 2 * (c * (kMean + kDeviation * kDeviation * s * off) - s * c * off);
  }
}

struct Moments {
  double mean = 0, deviation = 0;
};

Moments drawn(int64_t nfe, double eta, double odds) {
  std::vector<double> x(kRows);
  fill_normal(Key(1), 0, kRows, x.data());
  SolverOptions o;
  o.nfe = nfe, o.eta = eta, o.odds = odds, o.noise = Key(2);
  EXPECT_EQ(find_solver("stochastic").run(gaussian, kRows, 1, o, x.data()).evaluations, nfe);
  Moments m;
  for (const double v : x) m.mean += v / kRows;
  for (const double v : x) m.deviation += (v - m.mean) * (v - m.mean) / kRows;
  m.deviation = std::sqrt(m.deviation);
  return m;
}

TEST(Stochastic, ReturnsTheDataLawAsStepsGrow) {
  for (const double eta : {0.0, 0.5, 1.0})
    for (const double odds : {0.0, 1.0, 0.4}) {
      const auto error = [&](int64_t nfe) {
        const Moments m = drawn(nfe, eta, odds);
        EXPECT_NEAR(m.mean, kMean, 5 * kDeviation / std::sqrt(kRows)) << eta << " " << odds << " " << nfe;
        return std::abs(m.deviation / kDeviation - 1);
      };
      constexpr double sampling = 0.004;  // of a deviation from so many draws
      EXPECT_LT(error(40), (eta == 0 ? 0.004 : 0.07) + sampling) << eta << " " << odds;
      EXPECT_LT(error(160), (eta == 0 ? 0.0003 : 0.02) + sampling) << eta << " " << odds;
    }
}

TEST(Stochastic, DrawsNothingBeforeItBegins) {
  std::vector<double> x[3];
  for (int k = 0; k < 3; ++k) {
    x[k].resize(kRows);
    fill_normal(Key(1), 0, kRows, x[k].data());
    SolverOptions o;
    o.nfe = 10, o.eta = k == 0 ? 0 : 1, o.eta_from = k == 1 ? 1 : 0.55;
    find_solver("stochastic").run(gaussian, kRows, 1, o, x[k].data());
  }
  EXPECT_EQ(x[0], x[1]);
  EXPECT_NE(x[0], x[2]);
}

// One point as data: both ends of the path stay where they are, so that any number of steps is exact.
TEST(Stochastic, ExactForOnePoint) {
  for (const double eta : {0.0, 1.0}) {
    double x[2] = {0.3, -2};
    SolverOptions o;
    o.nfe = 3, o.eta = eta;
    find_solver("stochastic")
        .run(
            [](const double* y, const double* u, double* v) {
              for (int i = 0; i < 2; ++i) {
                const double s = std::sin(u[i] * M_PI / 2), c = std::cos(u[i] * M_PI / 2);
                v[i] = M_PI / 2 * (c * 5 - s * (y[i] - s * 5) / c);
              }
            },
            2, 1, o, x);
    EXPECT_NEAR(x[0], 5, 1e-9);
    EXPECT_NEAR(x[1], 5, 1e-9);
  }
}

RunConfig small_stable(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"data.n=2000", "train.epochs=1", "clock.family=stable", "clock.alpha=1.7"});
  return parse_config("", "test", more);
}

TEST(Stochastic, SamplesAreThoseOfTheirNumber) {
  const Model model = train(small_stable(), TrainOptions{});
  SampleOptions o = sample_options(small_stable());
  o.solver = "stochastic", o.solve.nfe = 8, o.n = 3000;
  const SampleResult whole = sample(model, o);
  EXPECT_EQ(whole.evaluations, 8);
  EXPECT_EQ(whole.diverged, 0);
  o.first = 1000, o.n = 500;
  EXPECT_TRUE(sample(model, o).samples.equal(whole.samples.narrow(0, 1000, 500)));
  o.time_grid = TimeGrid::clock;
  EXPECT_FALSE(sample(model, o).samples.equal(whole.samples.narrow(0, 1000, 500)));
}

TEST(Stochastic, IsRefusedWhereNoiseIsNotFree) {
  for (const char* setting : {"precondition.enabled=false", "coupling.kind=pool", "source.skew=0.5"}) {
    const Model model = train(small_stable({setting}), TrainOptions{});
    SampleOptions o = sample_options(small_stable({setting}));
    o.solver = "stochastic";
    EXPECT_THROW(sample(model, o), InputError) << setting;
  }
}

}  // namespace
}  // namespace htfm
