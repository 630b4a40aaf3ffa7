// Networks out of TorchScript files.
#include "htfm/net/torchscript.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "htfm/io/hash.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

constexpr int64_t kDim = 2, kHidden = 5, kFeature = 1, kIn = kDim + 1 + kFeature;

at::Tensor normal(const char* name, at::IntArrayRef shape, double scale) {
  at::Tensor out = at::zeros(shape, at::kFloat);
  fill_normal(Key(11).child(name), 0, out.numel(), out.mutable_data_ptr<float>());
  return out * scale;
}

// tanh between two layers, with a parameter that is not trained.
void write_network(const std::string& path, double scale = 0.5) {
  torch::jit::Module module("Net");
  const auto add = [&](const char* name, at::IntArrayRef shape) {
    module.register_parameter(name, normal(name, shape, scale).set_requires_grad(true), false);
  };
  add("a", {kHidden, kIn});
  add("b", {kHidden});
  add("c", {kDim, kHidden});
  module.register_parameter("fixed", at::full({1}, 2.0, at::kFloat), false);
  module.define(R"(
    def forward(self, x, t, feature):
        h = torch.tanh(torch.cat([x, t.unsqueeze(1), feature], 1) @ self.a.t() + self.b)
        return self.fixed * (h @ self.c.t())
  )");
  module.save(path);
}

struct Trusted {
  Trusted() { trust_torchscript(true); }
  ~Trusted() { trust_torchscript(false); }
};

std::vector<std::string> settings(const std::string& path) {
  return {"net.kind=torchscript", "net.path=" + path, "clock.family=inverse-gamma",
          "clock.nu=3",           "data.n=300",       "train.batch=100",
          "train.epochs=4",       "sample.nfe=4",     "sample.n=50"};
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

class HalfSquares final : public SampleLoss {
 public:
  double operator()(int64_t, int64_t rows, const float* output, float* gradient) const override {
    double sum = 0;
    for (int64_t i = 0; i < kDim * rows; ++i)
      sum += static_cast<double>(output[i]) * output[i] / 2, gradient[i] = output[i];
    return sum;
  }
};

TEST(TorchScript, GradientIsThatOfTheSameNetworkInDouble) {
  const Trusted trusted;
  const test::TemporaryFolder folder;
  write_network(folder / "net.pt");
  NetworkContext context{.dim = kDim, .feature = kFeature};
  context.config.kind = "torchscript", context.config.path = folder / "net.pt";
  const auto net = make_network(context);
  EXPECT_EQ(net->file_hash(), sha256_file(folder / "net.pt"));
  ASSERT_EQ(net->layout().list().size(), 3u);  // the fixed one is not trained
  constexpr int64_t n = 7;
  const at::Tensor x = normal("x", {n, kDim}, 1), t = normal("t", {n}, 0.3), f = normal("f", {n, kFeature}, 1),
                   p = net->initial(Key(0));
  const auto loss = [&](const at::Tensor& flat) {
    const auto layer = [&](int k) {
      const ParameterInfo& info = net->layout().list()[static_cast<size_t>(k)];
      return flat.narrow(0, info.offset, info.size).view(info.shape);
    };
    const at::Tensor in = at::cat({x, t.unsqueeze(1), f}, 1).to(at::kDouble);
    const at::Tensor out = 2 * at::matmul(at::tanh(at::matmul(in, layer(0).t()) + layer(1)), layer(2).t());
    return (out * out).sum().item<double>() / 2;
  };
  std::vector<float> gradient(static_cast<size_t>(net->layout().size()));
  const double value = net->gradient(p.const_data_ptr<float>(), {x, t, f}, HalfSquares(), gradient.data());
  const at::Tensor exact = p.to(at::kDouble);
  EXPECT_NEAR(value, loss(exact), 1e-5 * value);
  for (const ParameterInfo& info : net->layout().list())
    for (int64_t k = info.offset; k < info.offset + info.size; ++k) {
      constexpr double h = 1e-5;
      at::Tensor up = exact.clone(), down = exact.clone();
      up[k] += h, down[k] -= h;
      EXPECT_NEAR(gradient[static_cast<size_t>(k)], (loss(up) - loss(down)) / (2 * h), 1e-4) << info.name << " " << k;
    }
}

TEST(TorchScript, IsRefusedWithoutTrust) {
  const test::TemporaryFolder folder;
  write_network(folder / "net.pt");
  const RunConfig config = parse_config("", "t", settings(folder / "net.pt"));
  const std::string message = refusal([&] { train(config); });
  EXPECT_NE(message.find("runs code of whoever made it"), std::string::npos) << message;
  EXPECT_NE(message.find("--trust"), std::string::npos) << message;
  {
    const Trusted trusted;
    train(config, {.folder = folder / "run"}).save(folder / "model");
  }
  EXPECT_NE(refusal([&] { Model::load(folder / "model"); }).find("--trust"), std::string::npos);
}

TEST(TorchScript, ResumesWithTheSameBits) {
  const Trusted trusted;
  const test::TemporaryFolder folder;
  write_network(folder / "net.pt");
  const RunConfig config = parse_config("", "t", settings(folder / "net.pt"));
  const Model whole = train(config, {.folder = folder / "whole"});
  EXPECT_FALSE(whole.trained.parameters.equal(whole.network().initial(Key(0))));
  RunConfig half = config;
  half.train.epochs = 2;
  train(half, {.folder = folder / "parts"});
  const Model resumed = train(config, {.folder = folder / "parts", .resume = true});
  EXPECT_EQ(whole.weights_hash(), resumed.weights_hash());
  whole.save(folder / "model");
  const SampleOptions options = sample_options(config);
  EXPECT_TRUE(sample(whole, options).samples.equal(sample(Model::load(folder / "model"), options).samples));
}

TEST(TorchScript, ACheckpointRefusesAnotherFile) {
  const Trusted trusted;
  const test::TemporaryFolder folder;
  write_network(folder / "net.pt");
  train(parse_config("", "t", settings(folder / "net.pt"))).save(folder / "model");
  write_network(folder / "net.pt", 0.25);
  EXPECT_NE(refusal([&] { Model::load(folder / "model"); }).find("expected the file that the model was trained with"),
            std::string::npos);
}

TEST(TorchScript, WhatDoesNotFitIsToldBeforeTraining) {
  const Trusted trusted;
  const test::TemporaryFolder folder;
  test::spill(folder / "text.pt", "no network");
  EXPECT_NE(
      refusal([&] { train(parse_config("", "t", settings(folder / "text.pt"))); }).find("expected a TorchScript file"),
      std::string::npos);
  write_network(folder / "net.pt");
  std::vector<std::string> wide = settings(folder / "net.pt");
  wide.insert(wide.end(), {"data.name=student", "data.dim=3"});
  EXPECT_NE(refusal([&] { train(parse_config("", "t", wide)); }).find("rows of 3 values"), std::string::npos);
  EXPECT_NE(refusal([&] { train(parse_config("", "t", {"net.kind=torchscript"})); }).find("[net.path]"),
            std::string::npos);
}

}  // namespace
}  // namespace htfm
