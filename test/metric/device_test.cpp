// Features and neighbours on a CUDA device against the CPU. Skipped where there is no device.
#include "test/device.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include "htfm/metric/image_scores.h"
#include "test/data.h"
#include "test/metric/support.h"

namespace htfm {
namespace {

class OnDevice : public testing::Test {
 protected:
  void SetUp() override { HTFM_NEEDS_DEVICE(); }
  const at::Device device_{at::kCUDA, 0};
};

TEST_F(OnDevice, NetworkGivesTheFeaturesOfTheCpu) {
  const std::string path = test::golden_file("metric/strict.pt");
  const at::Tensor x = at::arange(33 * 3 * 8 * 8).remainder(251).to(at::kByte).view({33, 3, 8, 8});
  const at::Tensor here = FeatureNetwork(path)(x), there = FeatureNetwork(path, device_)(x, 10);
  EXPECT_TRUE(there.is_cuda());
  EXPECT_LT(there.cpu().sub(here).abs().max().item<float>(), 1e-5F);
}

TEST_F(OnDevice, NeighboursAreThoseOfTheCpu) {
  const at::Tensor real = to_tensor(stable_points(3000, 64, 1.7, Key(1)), at::kFloat);
  const at::Tensor fake = to_tensor(stable_points(2500, 64, 1.8, Key(2)), at::kFloat);
  const FeatureNeighbours a = feature_neighbours(real, fake),
                          b = feature_neighbours(real.to(device_), fake.to(device_));
  EXPECT_EQ(a.score.precision, b.score.precision);
  EXPECT_EQ(a.score.recall, b.score.recall);
  EXPECT_TRUE(a.nearest.equal(b.nearest));
  EXPECT_TRUE(a.covered.equal(b.covered));
}

TEST_F(OnDevice, MomentsTakeFeaturesFromThere) {
  const at::Tensor x = to_tensor(normal_points(300, 40, Key(3)), at::kFloat);
  MomentCollector a, b;
  a.add(x), b.add(x.to(device_));
  EXPECT_TRUE(a.moments().covariance.equal(b.moments().covariance));
}

}  // namespace
}  // namespace htfm
