// Convolutions with weights and activations in eight bits (float8, e4m3): every factor within its rounding, and a U-Net
// near the one in float32.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include "htfm/base/random.h"
#include "htfm/net/unet_pass.h"
#include "test/net/unet_golden.h"

namespace htfm {
namespace {

at::Tensor normal(uint64_t seed, at::IntArrayRef shape) {
  at::Tensor out = at::empty(shape, at::kFloat);
  fill_normal(Key(seed), 0, out.numel(), out.mutable_data_ptr<float>());
  return out;
}

double relative(const at::Tensor& got, const at::Tensor& expected) {
  return ((got - expected).norm() / expected.norm()).item<double>();
}

// Three bits of mantissa: a weight is off by at most 1/16 of itself, or by half a step of the smallest numbers. The
// largest weight of a channel is exact, and a channel of zeros stays one.
TEST(EightBit, WeightsAreWithinTheirRounding) {
  at::Tensor w = normal(1, {16, 3, 3, 32});
  w.select(0, 3).mul_(1e-6), w.select(0, 5).mul_(1e4), w.select(0, 7).zero_();
  const EightBitWeight eight = in_eight_bits(w);
  const at::Tensor back = eight.values.to(at::kFloat) * (eight.factor * kEightBitScale).view({16, 1, 1, 1});
  const at::Tensor largest = w.abs().amax({1, 2, 3}, true);
  const at::Tensor bound = w.abs() / 16 + largest * (0x1p-10 / 448) + 1e-7 * largest;
  EXPECT_TRUE(((back - w).abs() <= bound).all().item<bool>());
  EXPECT_TRUE(((back.abs().amax({1, 2, 3}, true) - largest).abs() <= 1e-6 * largest).all().item<bool>());
  EXPECT_GT(relative(back, w), 0.01);
}

// Independent roundings of a share of 2^-4 / sqrt(3) / 1.4 or so, of each factor, average to as much of the sum.
TEST(EightBit, AConvolutionAfterANormIsOffByItsRounding) {
  const auto ops = make_cpu_image_ops();
  const PendingSum sum{normal(2, {2, 8, 8, 32}), {normal(3, {32})}};
  const NormLayer norm{normal(4, {32}), normal(5, {32}), 4};
  const at::Tensor weight = normal(6, {16, 3, 3, 32});
  const at::Tensor exact = ops->norm_conv(sum, {}, norm, weight, nullptr, nullptr),
                   eight = ops->eight_bit_norm_conv(sum, {}, norm, in_eight_bits(weight));
  EXPECT_LT(relative(eight, exact), 0.05);
  EXPECT_GT(relative(eight, exact), 0.01);
}

TEST(EightBit, ActivationsBeyondTheLargestNumberBecomeIt) {
  const auto ops = make_cpu_image_ops();
  const at::Tensor y = normal(7, {1, 4, 4, 8});
  NormLayer norm{at::empty({8}, at::kFloat).fill_(1000), at::empty({8}, at::kFloat).zero_(), 2};
  const at::Tensor out = ops->eight_bit_norm_conv({y}, {}, norm, in_eight_bits(normal(8, {8, 3, 3, 8})));
  EXPECT_TRUE(out.isfinite().all().item<bool>());
}

// Evaluations alone: what a backward pass follows has the same bits as ever.
TEST(EightBit, OnlyEvaluationsHaveIt) {
  const UNetGolden golden("feature");
  ParameterLayout layout;
  const UNetLayers layers(golden.options(), layout);
  std::vector<float> numbers = UNetGolden::parameters(layout);
  const at::Tensor parameters = at::from_blob(numbers.data(), {layout.size()}, at::kFloat);
  const NetworkInput in = golden.input();
  const UNetOptions& o = layers.options;
  const at::Tensor x = in.x.view({-1, o.channels, o.height, o.width}).permute({0, 2, 3, 1}).contiguous();
  const auto out = [&](bool eight_bit, bool keep) {
    const auto ops = make_cpu_image_ops(eight_bit);
    return UNetPass(layers, *ops, {parameters, parameters}, keep).forward(x, in.t, in.feature).clone();
  };
  const at::Tensor exact = out(false, false);
  EXPECT_TRUE(out(true, true).equal(out(false, true)));
  EXPECT_LT(relative(out(true, false), exact), 0.15);
  EXPECT_GT(relative(out(true, false), exact), 1e-3);
}

}  // namespace
}  // namespace htfm
