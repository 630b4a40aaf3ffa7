// What is promised of weights: unbiased, the same for any number of threads, right by either method; and what is said
// of events that do not happen.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/rare/estimate.h"

namespace htfm {
namespace {

// Rows are standard normal numbers.
class Normal final : public LatentSampler {
 public:
  explicit Normal(int64_t dim) : dim_(dim) {}
  LatentShape shape() const override { return {0, 0, dim_}; }
  int64_t columns() const override { return dim_; }

 protected:
  at::Tensor make(const at::Tensor& latents) override { return latents.contiguous(); }

 private:
  int64_t dim_;
};

constexpr double kFour = 4.0;  // both columns above it: P = 1e-9
double upper_tail(double x) { return 0.5 * std::erfc(x * M_SQRT1_2); }
double corner(std::span<const double> row) {
  const double least = std::min(row[0], row[1]);
  return least > kFour ? kHolds : least;
}

struct Mean {
  double sum = 0, square = 0;
  int n = 0;
  void add(double v) { sum += v, square += v * v, ++n; }
  double mean() const { return sum / n; }
  double error() const { return std::sqrt((square / n - mean() * mean()) / (n - 1)); }
};

// Over many seeds the means of the weights, and of weight times a column, are what they estimate.
void expect_unbiased(bool splitting, int seeds, int64_t n) {
  const double p = upper_tail(kFour) * upper_tail(kFour),
               mean = std::exp(-kFour * kFour / 2) / std::sqrt(2 * M_PI) * upper_tail(kFour);
  Mean probability, first;
  std::vector<double> claimed;
  for (int seed = 0; seed < seeds; ++seed) {
    Normal normal(2);
    const RareSamples drawn = draw_event(
        normal, corner, n, {.key = Key(static_cast<uint64_t>(seed)), .particles = 300, .splitting = splitting});
    ASSERT_EQ(drawn.samples.size(0), n);
    EXPECT_GT(drawn.samples.min().item<double>(), kFour);
    EXPECT_NEAR(drawn.weights.mean().item<double>(), drawn.probability.probability, 1e-9 * p);
    probability.add(drawn.probability.probability / p);
    claimed.push_back(drawn.probability.standard_error / p);
    first.add((drawn.weights * drawn.samples.select(1, 0)).mean().item<double>() / mean);
  }
  EXPECT_NEAR(probability.mean(), 1, 4 * probability.error());
  EXPECT_NEAR(first.mean(), 1, 4 * first.error());
  EXPECT_LT(probability.error(), splitting ? 0.2 : 0.02);
  // Standard errors say how much estimates really differ, within a factor of two; of few particles they are skewed.
  if (splitting) return;
  const double real = probability.error() * std::sqrt(static_cast<double>(seeds));
  std::nth_element(claimed.begin(), claimed.begin() + seeds / 2, claimed.end());
  const double said = claimed[static_cast<size_t>(seeds / 2)];
  EXPECT_GT(said / real, 0.5);
  EXPECT_LT(said / real, 2);
}

TEST(RareLaw, WeightsAreUnbiased) { expect_unbiased(false, 40, 300); }
TEST(RareLaw, WeightsOfSplittingAreUnbiased) { expect_unbiased(true, 40, 200); }

// Beyond a quantile: the threshold is what the statistic exceeds, and the weights say how often, at the price of one
// search.
TEST(RareLaw, SamplesBeyondAQuantileTakeOneSearch) {
  const RowLevel sum = [](std::span<const double> row) { return row[0] + row[1]; };
  for (const bool splitting : {false, true}) {
    Mean ratio;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Normal normal(2);
      const RareSamples drawn = draw_beyond(
          normal, sum, 1e-8, 1000, {.key = Key(seed), .draws = 10000, .particles = 500, .splitting = splitting});
      ASSERT_EQ(drawn.samples.size(0), 1000);
      EXPECT_GT(drawn.samples.sum(1).min().item<double>(), drawn.threshold->value);
      ratio.add(drawn.probability.probability / upper_tail(drawn.threshold->value * M_SQRT1_2));
      EXPECT_NEAR(drawn.threshold->value * M_SQRT1_2, 5.612, splitting ? 0.4 : 0.05);
      if (!splitting) {
        EXPECT_LT(drawn.probability.samples, 40000);
      }
    }
    EXPECT_NEAR(ratio.mean(), 1, 4 * ratio.error());
  }
}

TEST(RareLaw, IntervalsHoldWhatTheySay) {
  int held = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Normal normal(3);
    const RowLevel level = [](std::span<const double> row) {
      return row[0] + row[1] + row[2] > 9 ? kHolds : row[0] + row[1] + row[2];
    };
    const EventProbability p = estimate_event(normal, level, {.key = Key(seed), .draws = 3000, .particles = 300});
    const double truth = upper_tail(9 / std::sqrt(3.0));
    held += p.lower <= truth && truth <= p.upper;
  }
  EXPECT_GE(held, 50);  // of 57, less 4 standard errors
}

TEST(RareLaw, SameBitsForAnyNumberOfThreads) {
  std::vector<double> found;
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    Normal normal(2);
    found.push_back(estimate_event(normal, corner, {.key = Key(5)}).probability);
    found.push_back(draw_event(normal, corner, 100, {.key = Key(5)}).weights.sum().item<double>());
  }
  set_thread_count(0);
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(found[1], found[3]);
  Normal normal(2);
  EXPECT_NE(estimate_event(normal, corner, {.key = Key(6)}).probability, found[0]);
}

TEST(RareLaw, SaysWhereAnEventIsNotReached) {
  Normal normal(2);
  // Below 1e-12.
  const EventProbability rare =
      estimate_event(normal, [](std::span<const double> row) { return row[0] > 30 ? kHolds : row[0]; }, {});
  EXPECT_FALSE(rare.reached);
  EXPECT_EQ(rare.probability, 0);
  EXPECT_EQ(rare.upper, 1e-12);
  // Never: nothing comes nearer than others.
  const EventProbability never = estimate_event(normal, [](std::span<const double>) { return 0.0; }, {});
  EXPECT_FALSE(never.reached);
  EXPECT_LE(never.upper, 0.01);
  EXPECT_FALSE(draw_event(normal, [](std::span<const double>) { return 0.0; }, 10, {}).probability.reached);
  EXPECT_THROW(estimate_quantile(normal, [](std::span<const double>) { return 0.0; }, 1e-4, {}), InputError);
  EXPECT_THROW(estimate_quantile(normal, corner, 0.7, {}), InputError);
}

// More numbers than can be steered: splitting takes over by itself.
TEST(RareLaw, ManyDimensionsAreSplit) {
  Normal normal(1000);
  const double threshold = 4;  // of the mean times sqrt(1000)
  const RowLevel level = [=](std::span<const double> row) {
    double sum = 0;
    for (const double v : row) sum += v;
    sum /= std::sqrt(static_cast<double>(row.size()));
    return sum > threshold ? kHolds : sum;
  };
  const EventProbability p = estimate_event(normal, level, {.key = Key(1), .particles = 500, .budget = 40000});
  EXPECT_EQ(p.method, "splitting");
  EXPECT_NEAR(p.probability, upper_tail(threshold), 4 * p.standard_error);
  EXPECT_LT(p.standard_error, 0.4 * p.probability);
}

}  // namespace
}  // namespace htfm
