// Laws of the clocks: Laplace transforms of the stable subordinator and of its area on several grids, the inverse gamma
// slope.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "htfm/base/parallel.h"
#include "htfm/clock/clock.h"
#include "test/statistics.h"

namespace htfm {
namespace {

constexpr int64_t kDraws = 1'000'000;
constexpr int64_t kChunk = 4000;

// E exp(-<w, dT>) for weights w of the increments: exp(-kappa), kappa = sum_i (rho+1) h w_i^rho / 2. Doubling the
// weights multiplies kappa by 2^rho, which gives the variance.
struct Functional {
  std::string name;
  double kappa;
  std::function<double(const double* path, double area)> value;
};

std::vector<Functional> functionals(double rho, int grid) {
  std::vector<Functional> out;
  const double h = 1.0 / grid, rate = (rho + 1) / 2;
  double sum = 0;
  const auto weight = [&](int i) { return 1 - (i + 0.5) * h; };
  for (int i = 0; i < grid; ++i) sum += h * std::pow(weight(i), rho);
  const double c = std::pow((rho + 1) * sum, -1 / rho);

  const int half = std::max(1, grid / 2);
  for (const double s : {0.1, 1.0, 10.0}) {
    for (const int j : std::set{1, half, grid})
      out.push_back({fmt::format("T_{}/{} at s={}", j, grid, s), rate * j * h * std::pow(s, rho),
                     [=](const double* path, double) { return s * path[j]; }});
    out.push_back(
        {fmt::format("A at s={}", s), std::pow(s, rho) / 2, [=](const double*, double area) { return s * area; }});
  }
  for (const auto& weights : {std::pair{1.0, 1.0}, {0.1, 10.0}, {5.0, 0.2}}) {
    const double s = weights.first, r = weights.second;
    double kappa = 0;
    for (int i = 0; i < grid; ++i) kappa += rate * h * std::pow(s + r * c * weight(i), rho);
    out.push_back({fmt::format("{} T_1 + {} A", s, r), kappa,
                   [=](const double* path, double area) { return s * path[grid] + r * area; }});
    // Independent, stationary increments.
    out.push_back({fmt::format("{} T_{} + {} (T_1 - T_{})", s, half, r, half),
                   rate * (half * h * std::pow(s, rho) + (1 - half * h) * std::pow(r, rho)),
                   [=](const double* path, double) { return s * path[half] + r * (path[grid] - path[half]); }});
  }
  return out;
}

class StableClock : public testing::TestWithParam<double> {};
class StableClockSlow : public testing::TestWithParam<double> {};

void expect_laplace_transforms(double alpha, const std::vector<int>& grids) {
  const double rho = alpha / 2;
  for (const int grid : grids) {
    const auto clock = make_clock({"stable", {{"alpha", alpha}}, grid});
    const std::vector<Functional> all = functionals(rho, grid);
    std::vector<double> sums(static_cast<size_t>(kDraws / kChunk) * all.size());
    parallel_for(kDraws / kChunk, [&](int64_t chunk) {
      const ClockSample sample = clock->sample(Key(1), {.count = kChunk, .first = chunk * kChunk});
      const double *paths = sample.paths.const_data_ptr<double>(), *area = sample.area.const_data_ptr<double>();
      double* sum = sums.data() + static_cast<size_t>(chunk) * all.size();
      for (int64_t i = 0; i < kChunk; ++i)
        for (size_t f = 0; f < all.size(); ++f) sum[f] += std::exp(-all[f].value(paths + i * (grid + 1), area[i]));
    });
    for (size_t f = 0; f < all.size(); ++f) {
      double mean = 0;
      for (size_t at = f; at < sums.size(); at += all.size()) mean += sums[at] / kDraws;
      const double expected = std::exp(-all[f].kappa), square = std::exp(-std::pow(2, rho) * all[f].kappa);
      EXPECT_NEAR(mean, expected, 4 * std::sqrt((square - expected * expected) / kDraws))
          << all[f].name << ", grid " << grid;
    }
  }
}

TEST_P(StableClock, LaplaceTransformsOnAnyGrid) { expect_laplace_transforms(GetParam(), {1, 7}); }
TEST_P(StableClockSlow, LaplaceTransformsOnAFineGrid) { expect_laplace_transforms(GetParam(), {200}); }

INSTANTIATE_TEST_SUITE_P(Alpha, StableClock, testing::Values(0.5, 1.0, 1.5, 1.9));
INSTANTIATE_TEST_SUITE_P(Alpha, StableClockSlow, testing::Values(0.5, 1.0, 1.5, 1.9));

TEST(StableClockPath, AreaIsTheTrapezoidTimesTheConstantOfTheGrid) {
  for (const double alpha : {0.5, 1.0, 1.5, 1.9})
    for (const int grid : {1, 7, 200}) {
      const double rho = alpha / 2;
      double sum = 0;
      for (int i = 0; i < grid; ++i) sum += std::pow(1 - (i + 0.5) / grid, rho) / grid;
      const double c = std::pow((rho + 1) * sum, -1 / rho);
      const ClockSample sample = make_clock({"stable", {{"alpha", alpha}}, grid})->sample(Key(2), {.count = 500});
      for (int64_t i = 0; i < 500; ++i) {
        const double* path = sample.paths.const_data_ptr<double>() + i * (grid + 1);
        double trapezoid = 0;
        for (int j = 0; j < grid; ++j) trapezoid += (path[j] + path[j + 1]) / (2 * grid);
        // All terms are positive: each of the grid's additions costs half a unit at most, in both sums.
        ASSERT_NEAR(sample.area.const_data_ptr<double>()[i] / (c * trapezoid), 1, (2 * grid + 10) * 0x1p-53)
            << alpha << ' ' << grid;
      }
    }
}

// The constant is 1 in the limit: the grid's area becomes the area of the path.
TEST(StableClockPath, ConstantOfTheGridTendsToOne) {
  for (const double alpha : {0.5, 1.5}) {
    const ClockSample sample = make_clock({"stable", {{"alpha", alpha}}, 20'000})->sample(Key(3), {.count = 1});
    const double* path = sample.paths.const_data_ptr<double>();
    double trapezoid = 0;
    for (int j = 0; j < 20'000; ++j) trapezoid += (path[j] + path[j + 1]) / 40'000;
    EXPECT_NEAR(sample.area.const_data_ptr<double>()[0] / trapezoid, 1, 1e-5);
  }
}

TEST(InverseGammaClock, SlopeIsInverseGamma) {
  for (const double nu : {0.5, 1.7, 3.0, 30.0}) {
    const ClockSample sample =
        make_clock({"inverse-gamma", {{"nu", nu}}, 7})->sample(Key(4), {.count = kDraws / 2, .paths = false});
    const double* end = sample.end.const_data_ptr<double>();
    std::vector<double> slope(end, end + kDraws / 2);
    const auto cdf = [&](double v) { return 1 - test::incomplete_gamma(nu / 2, std::log(nu / 2) - std::log(v)); };
    EXPECT_LT(test::kolmogorov_smirnov(slope, cdf), test::kKolmogorovBound) << nu;
  }
}

TEST(LinearClocks, AreLinesWithHalfTheirEndAsArea) {
  for (const ClockSpec& spec : {ClockSpec{"deterministic", {}, 7}, ClockSpec{"inverse-gamma", {{"nu", 1.7}}, 7}}) {
    const ClockSample sample = make_clock(spec)->sample(Key(5), {.count = 100});
    for (int64_t i = 0; i < 100; ++i) {
      const double end = sample.end.const_data_ptr<double>()[i];
      EXPECT_EQ(sample.area.const_data_ptr<double>()[i], end / 2);
      for (int j = 0; j <= 7; ++j) EXPECT_DOUBLE_EQ(sample.paths.const_data_ptr<double>()[i * 8 + j], end * j / 7);
    }
  }
  EXPECT_EQ(make_clock({"deterministic", {}, 7})->sample(Key(5), {.count = 1}).end.const_data_ptr<double>()[0], 1);
}

}  // namespace
}  // namespace htfm
