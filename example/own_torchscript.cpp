// A network out of a TorchScript file. The file is written here, and may as well come from torch.jit.script in Python.
#include <ATen/ATen.h>
#include <htfm/net/torchscript.h>
#include <htfm/sample/sampler.h>
#include <htfm/train/trainer.h>
#include <torch/csrc/jit/api/module.h>

#include <cmath>
#include <cstdio>
#include <numeric>

namespace {

constexpr int64_t kColumns = 2, kFeature = 1, kHidden = 32;

at::Tensor weights(const char* name, at::IntArrayRef shape, double scale) {
  at::Tensor out = at::empty(shape, at::kFloat);
  htfm::fill_normal(htfm::Key(1).child(name), 0, out.numel(), out.mutable_data_ptr<float>());
  return out.mul_(scale).set_requires_grad(true);
}

void write_network(const std::string& path) {
  constexpr int64_t in = kColumns + 1 + kFeature;
  torch::jit::Module module("Net");
  module.register_parameter("first", weights("first", {kHidden, in}, 1 / std::sqrt(in)), false);
  module.register_parameter("second", weights("second", {kColumns, kHidden}, 1 / std::sqrt(kHidden)), false);
  module.define(R"(
    def forward(self, x, t, feature):
        hidden = torch.cat([x, t.unsqueeze(1), feature], 1) @ self.first.t()
        return torch.tanh(hidden) @ self.second.t()
  )");
  module.save(path);
}

}  // namespace

int main(int, char** arguments) try {
  const std::string path = std::string(arguments[0]) + ".pt";  // beside the program
  write_network(path);
  htfm::trust_torchscript(true);  // the file holds code: say yes only where you know who made it

  const htfm::RunConfig config = htfm::parse_config(R"(
    data = {n = 1000}
    clock = {family = "inverse-gamma", nu = 3}
    net = {kind = "torchscript"}
    train = {batch = 200, epochs = 40, log_steps = 1}
    sample = {n = 200, nfe = 6}
  )",
                                                    "own_torchscript", {"net.path=" + path});
  std::vector<double> losses;
  htfm::TrainOptions options;
  options.report = [&](const htfm::TrainProgress& p) { losses.push_back(p.loss); };
  const htfm::Model model = htfm::train(config, options);
  const double first = losses.front(), last = std::accumulate(losses.end() - 100, losses.end(), 0.0) / 100;
  const htfm::SampleResult result = htfm::sample(model, htfm::sample_options(config));
  std::printf("%d parameters, loss %.4f -> %.4f, %d not finite\n", static_cast<int>(model.network().layout().count()),
              first, last, static_cast<int>(result.diverged));
  return last < first && result.diverged == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
