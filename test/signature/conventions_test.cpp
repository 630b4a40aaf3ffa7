// From samples to a path, and the feature of a clock.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/signature/clock_feature.h"

namespace htfm {
namespace {

constexpr Convention kAll[] = {Convention::linear, Convention::jump, Convention::leadlag, Convention::constant};

// Increasing heavy-tailed paths that start at 0.
at::Tensor random_clocks(uint64_t seed, int64_t n, int64_t points, at::ScalarType type = at::kDouble) {
  at::Tensor steps = at::empty({n, points}, at::kDouble);
  fill_positive_stable(Key(seed), 0.8, 0.01, 0, steps.numel(), steps.mutable_data_ptr<double>());
  steps.select(1, 0).zero_();
  return steps.cumsum(1).to(type);
}

at::Tensor random_walks(uint64_t seed, int64_t n, int64_t points, int64_t channels, at::ScalarType type = at::kDouble) {
  at::Tensor steps = at::empty({n, points, channels}, at::kDouble);
  fill_normal(Key(seed), 0, steps.numel(), steps.mutable_data_ptr<double>());
  return steps.cumsum(1).to(type);
}

// Against the largest value of each path: clocks differ in size by orders of magnitude.
void expect_close_by_path(const at::Tensor& a, const at::Tensor& b, double bound = 1e-12) {
  ASSERT_EQ(a.sizes(), b.sizes());
  const at::Tensor error = a.sub(b).abs().reshape({a.size(0), -1}).amax(1),
                   scale = b.abs().reshape({a.size(0), -1}).amax(1);
  EXPECT_LE(error.div(scale.clamp_min(1e-300)).max().item<double>(), bound);
}

at::Tensor points_of(const std::vector<double>& values, int64_t width) {
  const auto count = static_cast<int64_t>(values.size());
  return at::tensor(values, at::kDouble).reshape({1, count / width, width});
}

TEST(Convention, Names) {
  for (Convention convention : kAll) EXPECT_EQ(convention_by_name(convention_name(convention)), convention);
  EXPECT_EQ(convention_names(), (std::vector<std::string_view>{"linear", "jump", "leadlag", "constant"}));
  EXPECT_THROW(convention_by_name("stairs"), InputError);
}

TEST(Convention, PointsOfThePath) {
  const at::Tensor samples = points_of({0, 5, 1, 7, 3, 6}, 2);  // (time, value)
  EXPECT_TRUE(at::equal(apply_convention(samples, Convention::linear, true), samples));
  EXPECT_TRUE(
      at::equal(apply_convention(samples, Convention::jump, true), points_of({0, 5, 1, 5, 1, 7, 3, 7, 3, 6}, 2)));
  EXPECT_TRUE(
      at::equal(apply_convention(samples, Convention::constant, true), points_of({0, 5, 0, 7, 1, 7, 1, 6, 3, 6}, 2)));
  EXPECT_TRUE(at::equal(apply_convention(samples, Convention::leadlag, true),
                        points_of({0, 5, 5, 1, 7, 5, 1, 7, 7, 3, 6, 7, 3, 6, 6}, 3)));
  const at::Tensor plain = points_of({5, 7, 6}, 1);
  EXPECT_TRUE(
      at::equal(apply_convention(plain, Convention::leadlag, false), points_of({5, 5, 7, 5, 7, 7, 6, 7, 6, 6}, 2)));
}

TEST(Convention, TimeAugmentation) {
  const at::Tensor clocks = random_clocks(1, 3, 5);
  const at::Tensor augmented = augment_time(clocks);
  ASSERT_EQ(augmented.sizes(), (std::vector<int64_t>{3, 5, 2}));
  EXPECT_TRUE(at::equal(augmented.select(2, 1), clocks));
  EXPECT_TRUE(at::equal(augmented.select(2, 0)[2], at::tensor({0.0, 0.25, 0.5, 0.75, 1.0}, at::kDouble)));
  const at::Tensor times = at::tensor({0.0, 0.1, 0.5, 0.9, 2.0}, at::kDouble);
  EXPECT_TRUE(at::equal(augment_time(clocks, times).select(2, 0)[0], times));
  EXPECT_EQ(augment_time(random_walks(1, 2, 4, 3)).size(2), 4);
}

// S^21 of (s, T) is the integral of T - T_0 ds: the trapezoidal, left and right sum. With S^12 + S^21 = S^1 S^2 the
// area follows.
TEST(Convention, SecondLevelOfAClock) {
  const at::Tensor clocks = random_clocks(2, 20, 41);
  const at::Tensor left = clocks.narrow(1, 0, 40).sum(1).div(40), right = clocks.narrow(1, 1, 40).sum(1).div(40);
  const at::Tensor terminal = clocks.select(1, 40);
  const auto check = [&](Convention convention, const at::Tensor& integral) {
    const at::Tensor s = clock_signature(clocks, 2, convention);
    expect_close_by_path(s.select(1, 4), integral);
    expect_close_by_path(s.select(1, 3), terminal.sub(integral));
    expect_close_by_path(clock_logsignature(clocks, 2, LogBasis::brackets, convention).select(1, 2),
                         terminal.div(2).sub(integral));
  };
  check(Convention::linear, left.add(right).div(2));
  check(Convention::jump, left);
  check(Convention::constant, right);
}

// Time within a step stands still while the clock jumps, so powers of time inside a cell show from level 3 on: S^211 is
// the integral of T (1 - s) ds, S^112 that of s^2/2 dT.
TEST(Convention, ThirdLevelOfOneStep) {
  const at::Tensor clock = at::tensor({0.0, 1.0}, at::kDouble).reshape({1, 2});
  const auto coordinate = [&](Convention convention, int64_t word) {
    return clock_signature(clock, 3, convention)[0][6 + word].item<double>();
  };
  const int64_t w112 = 1, w211 = 4;
  EXPECT_NEAR(coordinate(Convention::linear, w112), 1.0 / 6, 1e-15);
  EXPECT_NEAR(coordinate(Convention::jump, w112), 1.0 / 2, 1e-15);
  EXPECT_NEAR(coordinate(Convention::constant, w112), 0.0, 1e-15);
  EXPECT_NEAR(coordinate(Convention::jump, w211), 0.0, 1e-15);
  EXPECT_NEAR(coordinate(Convention::constant, w211), 1.0 / 2, 1e-15);
}

// The area between lead and lag is half the quadratic variation, for every pair of channels.
TEST(Convention, LeadLagSeesTheQuadraticVariation) {
  const at::Tensor paths = random_walks(3, 10, 30, 2);
  const at::Tensor steps = paths.narrow(1, 1, 29).sub(paths.narrow(1, 0, 29));
  PathOptions options;
  options.convention = Convention::leadlag;
  const at::Tensor s = signature(paths, 2, options);  // channels: lead, lead, lag, lag
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const at::Tensor lead_lag = s.select(1, 4 + 4 * i + 2 + j), lag_lead = s.select(1, 4 + 4 * (2 + j) + i);
      const at::Tensor path_ij = signature(paths, 2).select(1, 2 + 2 * i + j),
                       path_ji = signature(paths, 2).select(1, 2 + 2 * j + i);
      const at::Tensor variation = steps.select(2, i).mul(steps.select(2, j)).sum(1);
      expect_close_by_path(lead_lag.sub(lag_lead).sub(path_ij.sub(path_ji)), variation, 1e-11);
    }
  }
}

// Of a clock under leadlag, (time, lead) is the linear path and (time, lag) the one with jumps.
TEST(Convention, LeadLagOfAClockHoldsLinearAndJump) {
  const at::Tensor clocks = random_clocks(4, 7, 33);
  const auto words = clock_basis(4, Convention::leadlag).words();
  const at::Tensor both = clock_logsignature(clocks, 4, LogBasis::words, Convention::leadlag);
  for (const auto& [letter, convention] : {std::pair{'2', Convention::linear}, {'3', Convention::jump}}) {
    const at::Tensor alone = clock_logsignature(clocks, 4, LogBasis::words, convention);
    const auto names = clock_basis(4, convention).words();
    for (size_t i = 0; i < names.size(); ++i) {
      std::string name = names[i];
      std::replace(name.begin(), name.end(), '2', letter);
      const auto found = std::find(words.begin(), words.end(), name);
      ASSERT_NE(found, words.end());
      expect_close_by_path(both.select(1, found - words.begin()), alone.select(1, static_cast<int64_t>(i)), 1e-9);
    }
  }
}

// Backwards, a path that jumps at the end of each cell is one that jumps at the beginning.
TEST(Convention, ConstantIsJumpReversed) {
  const at::Tensor samples = augment_time(random_clocks(5, 6, 20));
  PathOptions jump, constant;
  jump.convention = Convention::jump;
  constant.convention = Convention::constant;
  const at::Tensor forth = signature(samples, 4, jump), back = signature(samples.flip(1), 4, constant);
  EXPECT_LE(chen(forth, back, 2, 4).abs().amax(1).div(forth.abs().amax(1)).max().item<double>(), 1e-12);
  EXPECT_GT(forth.sub(signature(samples, 4, constant)).abs().max().item<double>(), 1e-3);
}

// What is walked without being stored is, to the last bit, what apply_convention and augment_time store.
TEST(Convention, FusedPathsEqualStoredOnes) {
  for (at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (Convention convention : kAll) {
      for (int64_t points : {1, 2, 33, 70}) {
        const at::Tensor clocks = random_clocks(6, 19, points, type);
        const at::Tensor stored = apply_convention(augment_time(clocks), convention, true);
        EXPECT_TRUE(at::equal(clock_signature(clocks, 4, convention), signature(stored, 4)));
        for (LogBasis basis : {LogBasis::words, LogBasis::brackets}) {
          EXPECT_TRUE(at::equal(clock_logsignature(clocks, 4, basis, convention), logsignature(stored, 4, basis)));
        }
        const at::Tensor paths = random_walks(7, 5, points, 3, type);
        const bool has_time = convention == Convention::jump || convention == Convention::constant;
        PathOptions options;
        options.convention = convention;
        EXPECT_TRUE(
            at::equal(signature(paths, 2, options), signature(apply_convention(paths, convention, has_time), 2)));
        options.time_first = true;
        EXPECT_TRUE(at::equal(signature(paths, 2, options), signature(apply_convention(paths, convention, true), 2)));
      }
    }
  }
  PathOptions options;
  options.augment_time = true;
  options.times = at::tensor({0.0, 0.1, 0.5, 0.9, 2.0}, at::kDouble);
  const at::Tensor paths = random_walks(8, 4, 5, 2);
  EXPECT_TRUE(at::equal(signature(paths, 3, options), signature(augment_time(paths, options.times), 3)));
}

TEST(ClockFeature, FirstLevelIsTimeAndTerminalValue) {
  const at::Tensor clocks = random_clocks(9, 12, 201);
  for (Convention convention : kAll) {
    const at::Tensor feature = clock_logsignature(clocks, 3, LogBasis::brackets, convention);
    EXPECT_EQ(feature.size(1), convention == Convention::leadlag ? 14 : 5);
    EXPECT_LE(feature.select(1, 0).sub(1.0).abs().max().item<double>(), 1e-13);
    expect_close_by_path(feature.select(1, 1), clocks.select(1, 200));
  }
  EXPECT_EQ(clock_coordinates(3), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(clock_coordinates(1, Convention::leadlag), (std::vector<int64_t>{1, 2}));
}

// A clock that runs like time itself has nothing beyond its first level.
TEST(ClockFeature, DeterministicClockIsAStraightLine) {
  const at::Tensor clock = augment_time(random_clocks(10, 2, 201)).select(2, 0).mul(3.0);
  const at::Tensor feature = clock_logsignature(clock, 4);
  EXPECT_LE(feature.narrow(1, 2, feature.size(1) - 2).abs().max().item<double>(), 1e-13);
}

}  // namespace
}  // namespace htfm
