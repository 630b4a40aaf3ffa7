#include "htfm/train/loss.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/net/mlp.h"

namespace htfm {
namespace {

at::Tensor normals(uint64_t seed, const std::vector<int64_t>& shape) {
  at::Tensor x = at::empty(shape, at::kFloat);
  fill_normal(Key(seed), 0, x.numel(), x.mutable_data_ptr<float>());
  return x;
}

const std::vector<LossSpec> kLosses{
    {LossKind::squared}, {LossKind::root}, {LossKind::smooth_l1}, {LossKind::median, 3, 2}};

TEST(Loss, ValuesByDefinition) {
  const at::Tensor target = at::empty({2, 2}, at::kFloat).zero_(), output = at::empty({2, 2}, at::kFloat);
  float* o = output.mutable_data_ptr<float>();
  o[0] = 3, o[1] = -4, o[2] = 0.5F, o[3] = 0;
  EXPECT_NEAR(batch_loss({LossKind::squared}, output, target), 25.25 / 4, 1e-6);
  EXPECT_NEAR(batch_loss({LossKind::root}, output, target), (std::sqrt(12.5) + std::sqrt(0.125)) / 2, 1e-6);
  EXPECT_NEAR(batch_loss({LossKind::smooth_l1}, output, target), (2.5 + 3.5 + 0.125) / 4, 1e-6);
  // One data row with two groups of one row: the lower of the two is the median.
  EXPECT_NEAR(batch_loss({LossKind::median, 2, 1}, output, target), 0.125, 1e-6);
}

// Two data rows, three groups of two rows each: the groups have means of squares 1, 4, 9 in some order.
TEST(Loss, MedianOfMeans) {
  const at::Tensor target = at::empty({12, 1}, at::kFloat).zero_(), output = at::empty({12, 1}, at::kFloat);
  const float group[6] = {3, 1, 2, 1, 2, 3};
  for (int64_t i = 0; i < 12; ++i) output.mutable_data_ptr<float>()[i] = group[i / 2];
  EXPECT_NEAR(batch_loss({LossKind::median, 3, 2}, output, target), 4, 1e-6);
}

TEST(Loss, GradientMatchesDifferences) {
  MlpOptions options;
  options.dim = 2, options.feature = 0;
  const auto network = make_mlp(options);
  const int64_t rows = 96;
  const TrainingPairs pairs{normals(1, {rows, 2}), normals(2, {rows}), {}, normals(3, {rows, 2})};
  std::vector<float> p(static_cast<size_t>(network->layout().size())), direction(p), gradient(p), moved(p);
  fill_normal(Key(4), 0, static_cast<int64_t>(p.size()), p.data());
  fill_normal(Key(5), 0, static_cast<int64_t>(p.size()), direction.data());
  for (float& v : p) v *= 0.1F;
  for (const LossSpec& spec : kLosses) {
    const double loss = batch_gradient(spec, *network, p.data(), pairs, gradient.data());
    const auto at = [&](double step) {
      for (size_t i = 0; i < p.size(); ++i) moved[i] = p[i] + static_cast<float>(step) * direction[i];
      return batch_loss(spec, network->forward(moved.data(), {pairs.x, pairs.t, {}}), pairs.target);
    };
    EXPECT_NEAR(loss, at(0), 1e-5 * (1 + loss));
    double slope = 0;
    for (size_t i = 0; i < p.size(); ++i) slope += static_cast<double>(gradient[i]) * direction[i];
    const double h = 1e-4, difference = (at(h) - at(-h)) / (2 * h);
    EXPECT_NEAR(slope, difference, 0.01 * std::abs(slope) + 0.01) << "loss " << static_cast<int>(spec.kind);
  }
}

}  // namespace
}  // namespace htfm
