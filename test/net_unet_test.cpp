// The U-Net against PyTorch (golden files of make_unet.py): output, loss and the gradient of every parameter.
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/net/unet.h"
#include "test/golden_file.h"
#include "test/unet_golden.h"

namespace htfm {
namespace {

class UNetGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(UNetGoldenTest, EqualsPyTorch) {
  const UNetGolden golden(GetParam());
  const auto net = make_unet(golden.options());
  const std::vector<float> parameters = golden.parameters(net->layout());
  const NetworkInput in = golden.input();
  const at::Tensor out = net->forward(parameters.data(), in);
  const std::vector<float>& expected = golden["output"];
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(out.const_data_ptr<float>()[i], expected[i], 2e-5) << i;
  std::vector<float> gradient(parameters.size());
  const double loss = net->gradient(parameters.data(), in, MeanSquare(golden["target"]), gradient.data());
  EXPECT_NEAR(loss, golden["loss"][0], 1e-5);
  EXPECT_EQ(golden.count("gradient."), net->layout().list().size());
  for (const ParameterInfo& p : net->layout().list())
    EXPECT_LT(relative_error(golden["gradient." + p.name], gradient.data() + p.offset), 2e-4)
        << p.name;  // float32 through some twenty layers; the worst of PyTorch's own is 3e-5, in the same tensor
}

TEST_P(UNetGoldenTest, EvaluatorEqualsForward) {
  const UNetGolden golden(GetParam());
  const auto net = make_unet(golden.options());
  const std::vector<float> parameters = golden.parameters(net->layout());
  const NetworkInput in = golden.input();
  const at::Tensor out = net->forward(parameters.data(), in);
  const auto evaluate =
      net->evaluator(parameters.data(), in.t.numel(), in.feature.defined() ? in.feature.const_data_ptr<float>() : nullptr);
  std::vector<float> y(static_cast<size_t>(out.numel()));
  (*evaluate)(in.x.const_data_ptr<float>(), in.t.const_data_ptr<float>(), y.data());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], out.const_data_ptr<float>()[i]);
}

INSTANTIATE_TEST_SUITE_P(Cases, UNetGoldenTest, testing::Values("feature", "plain", "film", "ncsnpp"));

TEST(UNet, HasThePapersSize) {
  UNetOptions o;
  o.feature = 2;
  const auto net = make_unet(o);
  EXPECT_NEAR(static_cast<double>(net->layout().count()), 39.6e6, 0.05e6);
}

TEST(UNet, NamesTheKeyThatDoesNotFit) {
  const auto message = [](UNetOptions o) -> std::string {
    try {
      make_unet(o);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  UNetOptions o;
  o.height = 30;
  EXPECT_NE(message(o).find("[net.multipliers]"), std::string::npos);
  o = {}, o.groups = 3;
  EXPECT_NE(message(o).find("[net.groups]"), std::string::npos);
  o = {}, o.heads = 7;
  EXPECT_NE(message(o).find("[net.heads]"), std::string::npos);
  o = {}, o.film = true;
  EXPECT_NE(message(o).find("[net.film]"), std::string::npos);
}

}  // namespace
}  // namespace htfm
