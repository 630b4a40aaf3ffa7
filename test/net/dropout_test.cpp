// Dropout of the U-Net: its share and scale, that samples and places differ, that evaluations know nothing of it, and
// the gradient of a network with dropout against differences.
#include "htfm/net/dropout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "htfm/base/random.h"
#include "htfm/net/unet.h"
#include "test/net/unet_golden.h"

namespace htfm {
namespace {

at::Tensor normal(Key key, at::IntArrayRef shape) {
  at::Tensor out = at::empty(shape, at::kFloat);
  fill_normal(key, 0, out.numel(), out.mutable_data_ptr<float>());
  return out;
}

TEST(Dropout, LeavesOutItsShareAndKeepsTheMean) {
  const auto ops = make_cpu_image_ops();
  const at::Tensor keys = dropout_keys(normal(Key(1), {3, 16, 16, 2}), normal(Key(2), {3}));
  at::Tensor x = at::ones({3, 16, 16, 64}, at::kFloat), other = at::ones({3, 16, 16, 64}, at::kFloat);
  ops->dropout(x, keys, 5, 0.3);
  ops->dropout(other, keys, 6, 0.3);
  for (int64_t n = 0; n < 3; ++n) {
    const at::Tensor sample = x[n];
    EXPECT_NEAR(sample.eq(0).to(at::kDouble).mean().item<double>(), 0.3, 4 * std::sqrt(0.21 / 16384)) << n;
    EXPECT_NEAR(sample.mean().item<double>(), 1, 0.02) << n;
    // Two places, or two samples: both left out with the product of the shares.
    for (const at::Tensor& second : {other[n], x[(n + 1) % 3]})
      EXPECT_NEAR(sample.eq(0).logical_and(second.eq(0)).to(at::kDouble).mean().item<double>(), 0.09,
                  4 * std::sqrt(0.09 * 0.91 / 16384))
          << n;
  }
  EXPECT_FLOAT_EQ(x.max().item<float>(), dropout_scale(dropout_threshold(0.3)));
}

TEST(Dropout, KeysFollowTheImageAndTheTime) {
  const at::Tensor x = normal(Key(1), {1, 8, 8, 3}), t = normal(Key(2), {1});
  const int64_t key = dropout_keys(x, t).item<int64_t>();
  EXPECT_EQ(dropout_keys(x.clone(), t).item<int64_t>(), key);
  EXPECT_EQ(dropout_keys(x.to(at::kBFloat16), t).item<int64_t>(), key);
  EXPECT_NE(dropout_keys(x + 0.1, t).item<int64_t>(), key);
  EXPECT_NE(dropout_keys(x, t + 0.001).item<int64_t>(), key);
}

struct Loss {
  double value;
  std::vector<float> gradient;
};

class UNetDropout : public testing::TestWithParam<const char*> {
 protected:
  UNetDropout() : golden_(GetParam()), options_(golden_.options()) {
    options_.dropout = 0.25;
    net_ = make_unet(options_);
    parameters_ = UNetGolden::parameters(net_->layout());
  }
  Loss loss(const std::vector<float>& parameters) const {
    Loss out{0, std::vector<float>(parameters.size())};
    out.value = net_->gradient(parameters.data(), golden_.input(), MeanSquare(golden_["target"]), out.gradient.data());
    return out;
  }
  UNetGolden golden_;
  UNetOptions options_;
  std::unique_ptr<Network> net_;
  std::vector<float> parameters_;
};

TEST_P(UNetDropout, GradientIsThatOfTheLossWithDropout) {
  const Loss at = loss(parameters_);
  EXPECT_GT(std::abs(at.value - golden_["loss"][0]), 1e-4);  // something was left out
  const std::vector<float> direction(at.gradient);
  double square = 0;
  for (const float d : direction) square += double{d} * d;
  const double step = 2e-3 / std::sqrt(square);
  const auto moved = [&](double by) {
    std::vector<float> p(parameters_);
    for (size_t i = 0; i < p.size(); ++i) p[i] += static_cast<float>(by * direction[i]);
    return loss(p).value;
  };
  EXPECT_NEAR((moved(step) - moved(-step)) / (2 * step) / square, 1, 0.01);
}

TEST_P(UNetDropout, EvaluatesAsWithout) {
  const auto without = make_unet(golden_.options());
  const NetworkInput in = golden_.input();
  EXPECT_TRUE(net_->forward(parameters_.data(), in).equal(without->forward(parameters_.data(), in)));
}

INSTANTIATE_TEST_SUITE_P(Networks, UNetDropout, testing::Values("feature", "ncsnpp"));

}  // namespace
}  // namespace htfm
