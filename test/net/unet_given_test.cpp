// A field that is given to a U-Net: the same numbers as a network whose image has these channels.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "htfm/base/error.h"
#include "htfm/net/unet.h"

namespace htfm {
namespace {

// Half the sum of the squares of the first channel of images with so many.
class FirstChannel final : public SampleLoss {
 public:
  FirstChannel(int64_t channels, int64_t points) : channels_(channels), points_(points) {}
  double operator()(int64_t, int64_t rows, const float* output, float* gradient) const override {
    double sum = 0;
    for (int64_t i = 0; i < rows * channels_ * points_; ++i) {
      const bool first = i / points_ % channels_ == 0;
      gradient[i] = first ? output[i] : 0;
      if (first) sum += 0.5 * output[i] * output[i];
    }
    return sum;
  }

 private:
  int64_t channels_, points_;
};

class GivenFieldTest : public testing::TestWithParam<bool> {};

// One channel of 8 x 8, given one of 4 x 4, beside the same network of two channels.
TEST_P(GivenFieldTest, EqualsFurtherChannels) {
  UNetOptions joined;
  joined.channels = 2, joined.height = joined.width = 8, joined.feature = 3, joined.base = 8, joined.groups = 4;
  joined.multipliers = {1, 2}, joined.blocks = 1, joined.heads = 2, joined.attention = {4}, joined.path_embedding = 8;
  joined.filtered = joined.rescale = joined.progressive = GetParam();
  UNetOptions given = joined;
  given.channels = given.given_channels = 1, given.given_height = given.given_width = 4, given.feature = 3 + 16;
  const auto a = make_unet(joined), b = make_unet(given);
  EXPECT_EQ(b->feature_size(), 19);
  EXPECT_EQ(b->dim(), 64);
  // Parameters by name; the output of the second network is the first of the other's.
  std::vector<float> of_a(static_cast<size_t>(a->layout().size())), of_b(static_cast<size_t>(b->layout().size()));
  fill_normal(Key(1), 0, static_cast<int64_t>(of_a.size()), of_a.data());
  for (float& p : of_a) p *= 0.1F;
  std::map<std::string, const ParameterInfo*> by_name;
  for (const ParameterInfo& p : a->layout().list()) by_name[p.name] = &p;
  for (const ParameterInfo& p : b->layout().list()) {
    ASSERT_LE(p.size, by_name.at(p.name)->size) << p.name;
    std::copy_n(of_a.data() + by_name.at(p.name)->offset, p.size, of_b.data() + p.offset);
  }
  constexpr int64_t kRows = 3;
  NetworkInput in_b{at::empty({kRows, 64}, at::kFloat), at::empty({kRows}, at::kFloat),
                    at::empty({kRows, 19}, at::kFloat)};
  fill_normal(Key(2), 0, in_b.x.numel(), in_b.x.mutable_data_ptr<float>());
  fill_normal(Key(3), 0, in_b.feature.numel(), in_b.feature.mutable_data_ptr<float>());
  in_b.t.fill_(0.4);
  const at::Tensor coarse = in_b.feature.narrow(1, 3, 16).reshape({kRows, 4, 4}),
                   fine = coarse.repeat_interleave(2, 1).repeat_interleave(2, 2).reshape({kRows, 64});
  const NetworkInput in_a{at::cat({in_b.x, fine}, 1), in_b.t, in_b.feature.narrow(1, 0, 3).contiguous()};
  const at::Tensor out_a = a->forward(of_a.data(), in_a).view({kRows, 2, 64}).select(1, 0),
                   out_b = b->forward(of_b.data(), in_b);
  EXPECT_GT(out_b.abs().max().item<float>(), 1e-3);
  EXPECT_LT((out_a - out_b).abs().max().item<float>(), 1e-5);
  // Both ways: the gradient of every parameter.
  std::vector<float> d_a(of_a.size()), d_b(of_b.size());
  EXPECT_NEAR(a->gradient(of_a.data(), in_a, FirstChannel(2, 64), d_a.data()),
              b->gradient(of_b.data(), in_b, FirstChannel(1, 64), d_b.data()), 1e-4);
  for (const ParameterInfo& p : b->layout().list()) {
    const float *own = d_b.data() + p.offset, *other = d_a.data() + by_name.at(p.name)->offset;
    double size = 0, off = 0;
    for (int64_t i = 0; i < p.size; ++i)
      size = std::max<double>(size, std::abs(other[i])), off = std::max<double>(off, std::abs(own[i] - other[i]));
    EXPECT_LE(off, 1e-4 * size + 1e-6) << p.name;
  }
  // An evaluator is told the field once.
  const auto evaluate = b->evaluator(of_b.data(), kRows, in_b.feature.const_data_ptr<float>());
  std::vector<float> y(static_cast<size_t>(out_b.numel()));
  (*evaluate)(in_b.x.const_data_ptr<float>(), 0.4, y.data());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], out_b.const_data_ptr<float>()[i], 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Networks, GivenFieldTest, testing::Values(false, true),
                         [](const auto& each) { return std::string(each.param ? "ncsnpp" : "unet"); });

TEST(GivenField, MustDivideTheImage) {
  UNetOptions o;
  o.channels = 1, o.height = o.width = 16, o.base = 32, o.multipliers = {1, 2}, o.attention = {};
  o.given_channels = 1, o.given_height = 3, o.given_width = 4, o.feature = 12;
  EXPECT_THROW(make_unet(o), InputError);
}

}  // namespace
}  // namespace htfm
