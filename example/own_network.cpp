// A network of one's own: two layers, written with tensor operations. LibTorch finds the gradient.
#include <ATen/ATen.h>
#include <htfm/net/module_network.h>
#include <htfm/net/networks.h>
#include <htfm/sample/sampler.h>
#include <htfm/train/trainer.h>

#include <cmath>
#include <cstdio>
#include <numeric>

namespace {

class TwoLayers final : public htfm::ModuleNetwork {
 public:
  TwoLayers(int64_t dim, int64_t feature, int64_t hidden) : ModuleNetwork(dim, feature) {
    const int64_t in = dim + 1 + feature;
    const double first = 1 / std::sqrt(static_cast<double>(in)), second = 1 / std::sqrt(static_cast<double>(hidden));
    add_parameter("first.weight", {hidden, in}, first);
    add_parameter("first.bias", {hidden}, first, /*decay=*/false);
    add_parameter("second.weight", {dim, hidden}, second);
    add_parameter("second.bias", {dim}, second, /*decay=*/false);
  }

 protected:
  at::Tensor output(std::span<const at::Tensor> p, const at::Tensor& x, const at::Tensor& t,
                    const at::Tensor& feature) const override {
    const at::Tensor input = at::cat({x, t.unsqueeze(1), feature}, 1);
    return at::linear(at::silu(at::linear(input, p[0], p[1])), p[2], p[3]);
  }
};

}  // namespace

int main() try {
  htfm::register_network({.name = "two-layers",
                          .summary = "one hidden layer",
                          .make =
                              [](const htfm::NetworkContext& c) {
                                return std::make_unique<TwoLayers>(c.dim, c.feature, c.options.whole("hidden"));
                              },
                          .options = {{"hidden", 64.0, "size of the hidden layer", 1, 4096}}});

  const htfm::RunConfig config = htfm::parse_config(R"(
    data = {n = 1000}
    clock = {family = "inverse-gamma", nu = 3}
    net = {kind = "two-layers", two-layers = {hidden = 32}}
    train = {batch = 200, epochs = 40, log_steps = 1}
    sample = {n = 200, nfe = 6}
  )",
                                                    "own_network");
  std::vector<double> losses;
  htfm::TrainOptions options;
  options.report = [&](const htfm::TrainProgress& p) { losses.push_back(p.loss); };
  const htfm::Model model = htfm::train(config, options);
  const double first = losses.front(), last = std::accumulate(losses.end() - 100, losses.end(), 0.0) / 100;
  const htfm::SampleResult result = htfm::sample(model, htfm::sample_options(config));
  std::printf("%d parameters, loss %.4f -> %.4f, %d not finite\n", static_cast<int>(model.network().layout().count()),
              first, last, static_cast<int>(result.diverged));
  const bool trained = !model.trained.parameters.equal(model.network().initial(htfm::Key(0).child("weights")));
  return trained && std::isfinite(last) && result.diverged == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
