// Clocks and sources drawn on a CUDA device against the CPU. Skipped where there is no device.
#include "test/device.h"

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "htfm/clock/clock.h"

namespace htfm {
namespace {

double relative_difference(const at::Tensor& there, const at::Tensor& here) {
  return there.cpu().sub(here).abs().div(here.abs().add(1e-12)).max().item<double>();
}

class ClockDeviceTest : public testing::TestWithParam<ClockSpec> {
 protected:
  void SetUp() override { HTFM_NEEDS_DEVICE(); }
  const at::Device device_{at::kCUDA, 0};
};

// A grid that is no multiple of a warp, and a part that does not begin at 0.
TEST_P(ClockDeviceTest, DrawsTheClocksOfTheCpu) {
  const auto clock = make_clock(GetParam());
  for (const bool paths : {false, true}) {
    const ClockSample here = clock->sample(Key(5), {.count = 3001, .first = 17, .paths = paths}),
                      there = clock->sample(Key(5), {.count = 3001, .first = 17, .paths = paths, .device = device_});
    ASSERT_TRUE(there.area.is_cuda());
    EXPECT_LT(relative_difference(there.area, here.area), 1e-9);
    EXPECT_LT(relative_difference(there.end, here.end), 1e-9);
    ASSERT_EQ(there.paths.defined(), paths);
    if (paths) {
      EXPECT_LT(relative_difference(there.paths, here.paths), 1e-9);
    }
  }
}

TEST_P(ClockDeviceTest, DrawsTheSourceOfTheCpu) {
  const ClockSample clocks = make_clock(GetParam())->sample(Key(5), {.count = 1000, .paths = false});
  for (const int64_t dim : {1, 2, 7}) {
    const at::Tensor here = sample_source(Key(6), clocks.area, dim, 11),
                     there = sample_source(Key(6), clocks.area.to(device_), dim, 11);
    ASSERT_TRUE(there.is_cuda());
    // In units of the source's deviation: a normal number near 0 has no relative accuracy.
    EXPECT_LT(there.cpu().sub(here).div(clocks.area.mul(2).sqrt().unsqueeze(1)).abs().max().item<double>(), 1e-12)
        << dim;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ClockDeviceTest,
                         testing::Values(ClockSpec{"deterministic", {}, 45}, ClockSpec{"stable", {{"alpha", 1.5}}, 45},
                                         ClockSpec{"stable", {{"alpha", 1.9}}, 200, {}, 2.0},
                                         ClockSpec{"inverse-gamma", {{"nu", 3.0}}, 45},
                                         ClockSpec{"inverse-gamma", {{"nu", 1.5}}, 200}));

}  // namespace
}  // namespace htfm
