// Estimates of events whose probability is known, down to 1e-8: the "network" is a formula.
#include "htfm/rare/estimate.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/clock/clock.h"
#include "test/statistics.h"

namespace htfm {
namespace {

// Samples are the source itself: sqrt(2A) z under a clock.
class LawSource final : public LatentSampler {
 public:
  LawSource(ClockSpec clock, int64_t dim) : clock_(make_clock(clock)), dim_(dim) {}
  LatentShape shape() const override { return {clock_->scores().count, clock_->scores().levels, dim_}; }
  int64_t columns() const override { return dim_; }

 protected:
  at::Tensor make(const at::Tensor& latents) override {
    const int64_t scores = shape().clock;
    const ClockSample clocks = clock_->of_scores(latents.narrow(1, 0, scores), false);
    return latents.narrow(1, scores, dim_) * clocks.area.mul(2).sqrt().unsqueeze(1);
  }

 private:
  std::unique_ptr<Clock> clock_;
  int64_t dim_;
};

RowLevel beyond(RowLevel statistic, double threshold) {
  return [=](std::span<const double> row) { return statistic(row) > threshold ? kHolds : statistic(row); };
}

double sum(std::span<const double> row) { return std::accumulate(row.begin(), row.end(), 0.0); }
double radius(std::span<const double> row) {
  return std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
}
double largest(std::span<const double> row) {
  double out = 0;
  for (const double v : row) out = std::max(out, std::abs(v));
  return out;
}

double upper_normal(double x) { return 0.5 * std::erfc(x * M_SQRT1_2); }
// The x with f(x) = p, f falling.
template <class F>
double solve(const F& f, double p) {
  double low = 0, high = 1;
  while (f(high) > p) high *= 2;
  for (int i = 0; i < 200; ++i) (f((low + high) / 2) > p ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}

ClockSpec gaussian() { return {}; }
ClockSpec student(double nu) { return {.family = "inverse-gamma", .parameters = {{"nu", nu}}}; }
ClockSpec cauchy(int grid = 50) { return {.family = "stable", .parameters = {{"alpha", 1}}, .grid = grid}; }

struct Case {
  const char* name;
  ClockSpec clock;
  int64_t dim;
  RowLevel statistic;
  std::function<double(double)> survival;  // of the statistic, falling
};

double student_survival(double nu, double x) { return 0.5 * test::incomplete_beta(nu / 2, 0.5, nu / (nu + x * x)); }

std::vector<Case> cases() {
  const auto chi = [](double d) {
    return [d](double r) {  // exact for even d
      double term = 1, sum = 1;
      for (int k = 1; k < d / 2; ++k) sum += term *= r * r / 2 / k;
      return sum * std::exp(-r * r / 2);
    };
  };
  return {
      {"normal, one column", gaussian(), 1, sum, upper_normal},
      {"normal, radius of 2", gaussian(), 2, radius, chi(2)},
      {"normal, radius of 10", gaussian(), 10, radius, chi(10)},
      {"normal, radius of 30", gaussian(), 30, radius, chi(30)},
      {"normal, sum of 30", gaussian(), 30, sum, [](double x) { return upper_normal(x / std::sqrt(30.0)); }},
      {"normal, largest of 5", gaussian(), 5, largest,
       [](double x) { return -std::expm1(5 * std::log1p(-2 * upper_normal(x))); }},
      {"t3, one column", student(3), 1, sum, [](double x) { return student_survival(3, x); }},
      {"t3, radius of 2", student(3), 2, radius, [](double r) { return std::pow(1 + r * r / 3, -1.5); }},
      {"t3, portfolio of 5", student(3), 5, sum, [](double x) { return student_survival(3, x / std::sqrt(5.0)); }},
      {"Cauchy, radius of 2", cauchy(), 2, radius, [](double r) { return std::pow(1 + 4 * r * r, -0.5); }},
      {"Cauchy, portfolio of 3", cauchy(), 3, sum, [](double x) { return std::atan(std::sqrt(3.0) / 2 / x) / M_PI; }},
  };
}

// One of each clock; the others, and a finer grid, take longer than everybody should wait.
std::vector<Case> some_cases() {
  std::vector<Case> all = cases();
  all[10].clock = cauchy(8);
  return {all[1], all[8], all[10]};
}

void expect_probabilities(const std::vector<Case>& list) {
  for (const Case& c : list)
    for (const double p : {1e-2, 1e-4, 1e-8}) {
      LawSource source(c.clock, c.dim);
      const EventProbability found = estimate_event(source, beyond(c.statistic, solve(c.survival, p)), {.key = Key(7)});
      EXPECT_TRUE(found.reached);
      EXPECT_NEAR(found.probability / p, 1, 4 * found.standard_error / p) << c.name << " " << p;
      EXPECT_LT(found.standard_error, 0.05 * p) << c.name << " " << p << " " << found.method;
      EXPECT_LE(found.samples, 100000) << c.name << " " << p;
    }
}

void expect_quantiles(const std::vector<Case>& list) {
  for (const Case& c : list)
    for (const double p : {0.3, 1e-4, 1e-8}) {
      LawSource source(c.clock, c.dim);
      const RareQuantile found = estimate_quantile(source, c.statistic, p, {.key = Key(3)});
      // In terms of probabilities: what is really beyond, within 4 standard errors.
      EXPECT_NEAR(c.survival(found.value) / p, 1, 4 / std::sqrt(found.effective) + 1e-3) << c.name << " " << p;
      EXPECT_LE(found.lower, found.value);
      EXPECT_GE(found.upper, found.value);
      EXPECT_GT(found.effective, 100) << c.name << " " << p << " " << found.method;
      EXPECT_LE(found.samples, 100000) << c.name << " " << p;
    }
}

TEST(RareEvents, ProbabilitiesAreRightDownTo1e8) { expect_probabilities(some_cases()); }
TEST(RareEvents, QuantilesAreRightDownTo1e8) { expect_quantiles(some_cases()); }
TEST(RareEventsSlow, ProbabilitiesAreRightDownTo1e8) { expect_probabilities(cases()); }
TEST(RareEventsSlow, QuantilesAreRightDownTo1e8) { expect_quantiles(cases()); }

}  // namespace
}  // namespace htfm
