// The U-Net against PyTorch (golden files of make_unet.py): output, loss and the gradient of every parameter.
#include "htfm/net/unet.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/net/unet_pass.h"
#include "test/golden_file.h"
#include "test/net/unet_golden.h"

namespace htfm {
namespace {

class UNetGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(UNetGoldenTest, EqualsPyTorch) {
  const UNetGolden golden(GetParam());
  const auto net = make_unet(golden.options());
  const std::vector<float> parameters = UNetGolden::parameters(net->layout());
  const NetworkInput in = golden.input();
  const at::Tensor out = net->forward(parameters.data(), in);
  const std::vector<float>& expected = golden["output"];
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(out.const_data_ptr<float>()[i], expected[i], 2e-5) << i;
  std::vector<float> gradient(parameters.size());
  const double loss = net->gradient(parameters.data(), in, MeanSquare(golden["target"]), gradient.data());
  EXPECT_NEAR(loss, golden["loss"][0], 1e-5);
  EXPECT_EQ(golden.count("gradient."), net->layout().list().size());
  for (const ParameterInfo& p : net->layout().list())
    EXPECT_LT(relative_error(golden["gradient." + p.name], gradient.data() + p.offset), 1e-4)
        << p.name;  // float32 through some twenty layers
}

TEST_P(UNetGoldenTest, EvaluatorEqualsForward) {
  const UNetGolden golden(GetParam());
  const auto net = make_unet(golden.options());
  const std::vector<float> parameters = UNetGolden::parameters(net->layout());
  const NetworkInput in = golden.input();
  const at::Tensor out = net->forward(parameters.data(), in);
  const auto evaluate = net->evaluator(parameters.data(), in.t.numel(),
                                       in.feature.defined() ? in.feature.const_data_ptr<float>() : nullptr);
  std::vector<float> y(static_cast<size_t>(out.numel()));
  (*evaluate)(in.x.const_data_ptr<float>(), in.t.const_data_ptr<float>(), y.data());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], out.const_data_ptr<float>()[i]);
}

INSTANTIATE_TEST_SUITE_P(Cases, UNetGoldenTest, testing::Values("feature", "plain", "film", "ncsnpp", "released"));

// The filter of NCSN++ against scipy's upfirdn, and its adjoints by inner products.
TEST(Fir, EqualsScipy) {
  const GoldenFile golden("fir");
  const auto ops = make_cpu_image_ops();
  const int64_t h = golden.size("height"), w = golden.size("width"), c = golden.size("channels");
  const at::Tensor x = golden.tensor("x", {1, h, w, c}), down = ops->fir_down(x), up = ops->fir_up(x);
  for (const auto& [name, y] : {std::pair{"down", down}, {"up", up}}) {
    ASSERT_EQ(static_cast<int64_t>(golden[name].size()), y.numel());
    for (int64_t i = 0; i < y.numel(); ++i)
      EXPECT_NEAR(y.const_data_ptr<float>()[i], golden[name][static_cast<size_t>(i)], 1e-6) << name;
  }
  const auto inner = [](const at::Tensor& a, const at::Tensor& b) {
    return a.to(at::kDouble).mul(b).sum().item<double>();
  };
  at::Tensor small = at::empty_like(down), large = at::empty_like(up);
  fill_normal(Key(1), 0, small.numel(), small.mutable_data_ptr<float>());
  fill_normal(Key(2), 0, large.numel(), large.mutable_data_ptr<float>());
  EXPECT_NEAR(inner(down, small), inner(x, ops->fir_up(small, 0.25f)), 1e-5);
  EXPECT_NEAR(inner(up, large), inner(x, ops->fir_down(large, 4.0f)), 1e-4);
}

// Several processes add up the gradients that are told while the next ones are computed, so they must be final.
TEST(UNet, GradientsThatAreToldDoNotChange) {
  for (const char* name : {"feature", "ncsnpp"}) {
    const UNetGolden golden(name);
    const auto net = make_unet(golden.options());
    const auto ops = make_cpu_image_ops();
    std::vector<float> numbers = UNetGolden::parameters(net->layout());
    const at::Tensor parameters = at::from_blob(numbers.data(), {net->layout().size()}, at::kFloat);
    const NetworkInput in = golden.input();
    const int64_t n = in.t.numel(), c = golden.size("channels"), h = golden.size("height"), w = golden.size("width");
    UNetPass pass(*net->unet(), *ops, {parameters, parameters}, true);
    at::Tensor x = ops->empty({n, h, w, ops->padded(c)}).zero_();
    x.narrow(3, 0, c).copy_(in.x.view({n, c, h, w}).permute({0, 2, 3, 1}));
    const at::Tensor out = pass.forward(x, in.t, in.feature);
    at::Tensor towards = ops->empty({n, h, w, ops->padded(c)}).zero_();
    towards.narrow(3, 0, c).copy_(out);
    std::vector<at::Tensor> told;
    size_t times = 0;
    const UNetGradient gradient = pass.backward(towards, [&](const std::vector<ParameterGradient>& so_far) {
      ++times;
      for (size_t k = told.size(); k < so_far.size(); ++k) told.push_back(so_far[k].value.clone());
    });
    EXPECT_GT(times, 4u);
    EXPECT_GT(told.size(), gradient.parameters.size() / 2);
    for (size_t k = 0; k < told.size(); ++k)
      EXPECT_TRUE(told[k].equal(gradient.parameters[k].value)) << name << ", gradient " << k;
  }
}

// NCSN++ as the paper sets it for 128 x 128 fields.
TEST(UNet, HasThePapersFieldNetwork) {
  UNetOptions o;
  o.channels = 1, o.height = o.width = 128, o.base = 32, o.multipliers = {1, 2, 2, 4, 4}, o.blocks = 4, o.feature = 1;
  o.filtered = o.rescale = o.progressive = true, o.group_channels = 4;
  const auto net = make_unet(o);
  int64_t resized = 0, images = 0, attends = 0;
  for (const UNetStage& s : net->unet()->down)
    resized += s.block.resample == Resample::down, images += s.progressive, attends += s.attends;
  EXPECT_EQ(resized, 4);
  EXPECT_EQ(images, 4);
  EXPECT_EQ(attends, 4);  // at 16 x 16
  EXPECT_EQ(net->unet()->last_norm.groups, 8);
  std::printf("%lld parameters\n", static_cast<long long>(net->layout().count()));
}

TEST(UNet, DecaysTheSameLayersAsTheMlp) {
  UNetOptions o;
  o.feature = 2, o.film = true;
  const auto net = make_unet(o);
  for (const ParameterInfo& p : net->layout().list()) {
    const bool embedding = p.name.starts_with("time") || p.name.starts_with("path");
    const bool norm = p.name.find("norm") != std::string::npos;
    EXPECT_EQ(p.decay, p.name.ends_with(".weight") && !embedding && !norm) << p.name;
    EXPECT_EQ(p.stacked, p.name == "modulation.weight") << p.name;
  }
}

TEST(UNet, AttendsAfterTheLastBlockOfASizeOnTheWayUp) {
  UNetOptions o;
  o.attend_once_up = true;
  const auto net = make_unet(o);
  for (const UNetStage& s : net->unet()->down) EXPECT_EQ(s.attends, s.kind == UNetStage::Kind::block && s.height == 16);
  int64_t attends = 0, blocks = 0;
  for (const UNetStage& s : net->unet()->up) {
    if (s.kind != UNetStage::Kind::block || s.height != 16) continue;
    ++blocks, attends += s.attends;
    EXPECT_EQ(s.attends, blocks == 3);
  }
  EXPECT_EQ(attends, 1);
}

TEST(UNet, HasThePapersSize) {
  UNetOptions o;
  o.feature = 2;
  const auto net = make_unet(o);
  EXPECT_NEAR(static_cast<double>(net->layout().count()), 39.6e6, 0.05e6);
}

TEST(UNet, NamesTheKeyThatDoesNotFit) {
  const auto message = [](const UNetOptions& o) -> std::string {
    try {
      make_unet(o);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  UNetOptions o;
  o.height = 30;
  EXPECT_NE(message(o).find("[unet.multipliers]"), std::string::npos);
  o = {}, o.groups = 3;
  EXPECT_NE(message(o).find("[unet.groups]"), std::string::npos);
  o = {}, o.heads = 7;
  EXPECT_NE(message(o).find("[unet.heads]"), std::string::npos);
  o = {}, o.film = true;
  EXPECT_NE(message(o).find("[net.film]"), std::string::npos);
}

}  // namespace
}  // namespace htfm
