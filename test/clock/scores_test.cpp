// Clocks that are made of scores have the law of those that are drawn, far into the tail.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/quantile_table.h"
#include "htfm/clock/clock.h"
#include "test/statistics.h"

namespace htfm {
namespace {

ClockSample of(const Clock& clock, const std::vector<double>& scores, bool paths = false) {
  const int64_t count = clock.scores().count;
  at::Tensor t = at::empty({static_cast<int64_t>(scores.size()) / std::max<int64_t>(count, 1), count}, at::kDouble);
  std::copy(scores.begin(), scores.end(), t.mutable_data_ptr<double>());
  return clock.of_scores(t, paths);
}

// 1/V times nu/2 is a gamma variable: the probability of a clock's being larger is that of its score.
TEST(ClockScores, InverseGammaIsExactFarOut) {
  for (const double nu : {0.5, 3.0, 40.0})
    for (const double score : {-6.0, -2.0, 0.0, 1.0, 3.0, 5.6, 8.0}) {
      const auto clock = make_clock({.family = "inverse-gamma", .parameters = {{"nu", nu}}});
      const double area = of(*clock, {score}).area.item<double>();
      const double log_g = std::log(nu / 2) - std::log(2 * area);
      const double larger = test::incomplete_gamma(nu / 2, log_g), meant = 0.5 * std::erfc(score * M_SQRT1_2);
      // incomplete_gamma loses digits where it is near 1
      EXPECT_NEAR(larger, meant, 1e-7 * meant + 1e-14) << nu << " " << score;
    }
}

// E exp(-s S) = exp(-s^(1/2)) has P(S <= s) = erfc(1 / (2 sqrt(s))).
TEST(ClockScores, StableIncrementsAreExactFarOut) {
  const auto clock = make_clock({.family = "stable", .parameters = {{"alpha", 1}}, .grid = 1});
  const double scale = std::pow(0.75, 2);  // of the increment: ((rho + 1) / 2)^(1/rho)
  for (const double score : {-6.0, -2.0, 0.0, 1.0, 3.0, 5.6, 8.0}) {
    const double s = of(*clock, {score}).end.item<double>() / scale, x = 1 / (2 * std::sqrt(s));
    const double meant = 0.5 * std::erfc(std::abs(score) * M_SQRT1_2);
    EXPECT_NEAR((score > 0 ? std::erf(x) : std::erfc(x)) / meant, 1, 1e-6) << score;
  }
}

// Every family: the laws of areas agree, by the two-sample statistic of Kolmogorov and Smirnov.
TEST(ClockScores, HaveTheLawOfDrawnClocks) {
  const std::vector<ClockSpec> specs{
      {.family = "inverse-gamma", .parameters = {{"nu", 3}}},
      {.family = "gamma", .parameters = {{"shape", 0.7}}, .scale = 2},
      {.family = "inverse-gaussian", .parameters = {{"shape", 0.5}}},
      {.family = "generalised-inverse-gaussian", .parameters = {{"order", -1.5}, {"concentration", 0.3}}},
      {.family = "tempered-stable", .parameters = {{"alpha", 1.4}, {"tempering", 0.5}}},
      {.family = "compound-poisson", .parameters = {{"drift", 0.2}, {"rate", 8}, {"jump_tail", 1.5}}},
      {.family = "stable", .parameters = {{"alpha", 1.7}}, .grid = 20},
      {.family = "stable", .parameters = {{"alpha", 0.6}}, .grid = 20},
      {.family = "fitted", .parameters = {}, .table = QuantileTable({1, 0.5, 0.1}, {-1, 0, 1}, 1.5).numbers()}};
  const int64_t n = 20000;
  for (const ClockSpec& spec : specs) {
    const auto clock = make_clock(spec);
    std::vector<double> scores(static_cast<size_t>(n * clock->scores().count));
    fill_normal(Key(1), 0, static_cast<int64_t>(scores.size()), scores.data());
    const ClockSample made = of(*clock, scores), drawn = clock->sample(Key(2), {.count = n, .paths = false});
    std::vector<double> a(made.area.const_data_ptr<double>(), made.area.const_data_ptr<double>() + n),
        b(drawn.area.const_data_ptr<double>(), drawn.area.const_data_ptr<double>() + n);
    std::sort(b.begin(), b.end());
    const double distance = test::kolmogorov_smirnov(a, [&](double x) {
      return static_cast<double>(std::upper_bound(b.begin(), b.end(), x) - b.begin()) / static_cast<double>(n);
    });
    EXPECT_LT(distance / std::sqrt(2.0), test::kKolmogorovBound) << spec.describe();
  }
}

TEST(ClockScores, PathsEndWhereTheySay) {
  const auto clock = make_clock({.family = "stable", .parameters = {{"alpha", 1.5}}, .grid = 4});
  const ClockSample made = of(*clock, {0, 1, 2, 0.5, -1, 0, 3, 0}, true);
  for (int64_t i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(made.paths[i][4].item<double>(), made.end[i].item<double>());
  const auto flat = make_clock({});
  EXPECT_EQ(flat->of_scores(at::empty({3, 0}, at::kDouble)).area[2].item<double>(), 0.5);
  EXPECT_THROW(clock->of_scores(at::empty({3, 5}, at::kDouble)), InputError);
}

}  // namespace
}  // namespace htfm
