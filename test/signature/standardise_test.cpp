// Running standardisation and the signed logarithm.
#include "htfm/signature/standardise.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/random.h"

namespace htfm {
namespace {

at::Tensor normal(uint64_t seed, int64_t n, int64_t p, at::ScalarType type = at::kDouble) {
  at::Tensor x = at::empty({n, p}, at::kDouble);
  fill_normal(Key(seed), 0, x.numel(), x.mutable_data_ptr<double>());
  return x.to(type);
}

double largest_entry(const at::Tensor& x) { return x.abs().max().item<double>(); }

TEST(RunningStandardiser, MomentsOfAllBatchesTogether) {
  const at::Tensor x = normal(1, 1000, 4)
                           .mul(at::tensor({1.0, 1e-3, 1e6, 5.0}, at::kDouble))
                           .add(at::tensor({0.0, 1.0, -3e7, 1e9}, at::kDouble));
  RunningStandardiser running(4);
  for (int64_t begin = 0, size = 1; begin < 1000; begin += size, size = std::min<int64_t>(3 * size, 1000 - begin)) {
    size = std::min<int64_t>(size, 1000 - begin);
    running.update(x.narrow(0, begin, size));
  }
  EXPECT_EQ(running.count(), 1000);
  const at::Tensor mean = x.mean(0), m2 = x.sub(mean).square().sum(0);
  EXPECT_LE(largest_entry(running.state().mean.sub(mean).div(mean.abs().clamp_min(1.0))), 1e-14);
  // The last column has a mean of 2e8 standard deviations: rounding of the values alone is 1e-8 of the spread.
  EXPECT_LE(largest_entry(running.state().m2.sub(m2).div(m2)), 1e-7);
  const at::Tensor y = running.apply(x);
  EXPECT_EQ(y.scalar_type(), at::kFloat);
  EXPECT_LE(largest_entry(y.to(at::kDouble).mean(0)), 1e-6);
  EXPECT_LE(largest_entry(y.to(at::kDouble).square().mean(0).sub(1.0)), 1e-6);
}

TEST(RunningStandardiser, CoordinateWithoutVarianceGivesZero) {
  for (double value : {0.0, 1.0, 0.1, -1e30}) {
    RunningStandardiser running(2);
    for (uint64_t batch = 0; batch < 5; ++batch) {
      at::Tensor x = normal(batch, 37, 2);
      x.select(1, 0).fill_(value);
      running.update(x);
    }
    const at::Tensor y = running.apply(at::full({3, 2}, 7.0, at::kDouble));
    EXPECT_TRUE(at::equal(y.select(1, 0), at::full({3}, 0.0, at::kFloat)));
    EXPECT_NE(y[0][1].item<float>(), 0.0f);
  }
  RunningStandardiser one(1);
  one.update(at::full({1, 1}, 3.0, at::kDouble));
  EXPECT_EQ(one.apply(at::full({1, 1}, 9.0, at::kDouble)).item<float>(), 0.0f);
}

// A run that is resumed from a checkpoint goes on bit for bit.
TEST(RunningStandardiser, StateContinuesExactly) {
  RunningStandardiser whole(3), second(3);
  whole.update(normal(5, 64, 3));
  second.load(whole.state());
  whole.update(normal(6, 64, 3));
  second.update(normal(6, 64, 3));
  EXPECT_EQ(whole.count(), second.count());
  EXPECT_TRUE(at::equal(whole.state().mean, second.state().mean));
  EXPECT_TRUE(at::equal(whole.state().m2, second.state().m2));
  EXPECT_TRUE(at::equal(whole.apply(normal(7, 9, 3)), second.apply(normal(7, 9, 3))));
}

TEST(RunningStandardiser, ValueThatIsNotFiniteChangesNothing) {
  RunningStandardiser running(2);
  running.update(normal(8, 10, 2));
  const at::Tensor mean = running.state().mean;
  for (double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    at::Tensor x = normal(9, 10, 2);
    x[4][1] = bad;
    try {
      running.update(x);
      ADD_FAILURE() << "accepted " << bad;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("row 4, coordinate 1"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(running.count(), 10);
  EXPECT_TRUE(at::equal(running.state().mean, mean));
}

// A clock without a feature standardises nothing.
TEST(RunningStandardiser, NoCoordinates) {
  RunningStandardiser running(0);
  running.update(at::empty({5, 0}, at::kDouble));
  EXPECT_EQ(running.count(), 5);
  EXPECT_EQ(running.apply(at::empty({3, 0}, at::kDouble)).sizes(), (std::vector<int64_t>{3, 0}));
}

TEST(RunningStandardiser, BadInput) {
  EXPECT_THROW(RunningStandardiser(-1), InputError);
  RunningStandardiser running(2);
  EXPECT_THROW(running.apply(normal(10, 3, 2)), Error);
  EXPECT_THROW(running.update(normal(10, 3, 3)), InputError);
  EXPECT_THROW(running.update(normal(10, 3, 2).to(at::kInt)), InputError);
  EXPECT_THROW(running.update(at::Tensor()), InputError);
  EXPECT_THROW(running.load({}), InputError);
  EXPECT_THROW(running.load(RunningStandardiser(3).state()), InputError);
  RunningStandardiser::State state = running.state();
  state.m2[0] = -1.0;
  EXPECT_THROW(running.load(state), InputError);
}

TEST(SignedLog1p, OddAndOnlyWhereAsked) {
  const at::Tensor x = at::tensor({-3.0, 1e30, 0.0, 2.0, -1e-20, 5.0}, at::kDouble).reshape({2, 3});
  const std::vector<int64_t> coordinates = {0, 1};
  const at::Tensor y = signed_log1p(x, coordinates);
  EXPECT_DOUBLE_EQ(y[0][0].item<double>(), -std::log(4.0));
  EXPECT_DOUBLE_EQ(y[0][1].item<double>(), std::log1p(1e30));
  EXPECT_DOUBLE_EQ(y[1][1].item<double>(), -1e-20);
  EXPECT_TRUE(at::equal(y.select(1, 2), x.select(1, 2)));
  EXPECT_TRUE(at::equal(signed_log1p(x.neg(), coordinates), y.neg()));
  EXPECT_EQ(signed_log1p(x.to(at::kFloat), coordinates).scalar_type(), at::kFloat);
  EXPECT_EQ(x[0][0].item<double>(), -3.0);
  const std::vector<int64_t> outside = {3};
  EXPECT_THROW(signed_log1p(x, outside), InputError);
}

TEST(StandardiseAlongTime, EachChannelOfEachPath) {
  const at::Tensor clocks = normal(11, 4, 30).abs().cumsum(1);
  const at::Tensor y = standardise_along_time(clocks);
  ASSERT_EQ(y.sizes(), clocks.sizes());
  EXPECT_LE(largest_entry(y.mean(1)), 1e-14);
  EXPECT_LE(largest_entry(y.square().mean(1).sub(1.0)), 1e-13);
  // It removes the clock's scale.
  EXPECT_LE(largest_entry(standardise_along_time(clocks.mul(1000.0)).sub(y)), 1e-12);
  at::Tensor paths = normal(12, 3, 20).reshape({3, 10, 2});
  paths.select(2, 1).fill_(0.3);
  EXPECT_EQ(largest_entry(standardise_along_time(paths).select(2, 1)), 0.0);
}

}  // namespace
}  // namespace htfm
