// A clock family of one's own: T_t = t V with a lognormal V, so that the source is a normal one of random variance with
// all moments.
#include <ATen/ATen.h>
#include <htfm/clock/slope_clock.h>
#include <htfm/sample/sampler.h>
#include <htfm/train/trainer.h>

#include <cmath>
#include <cstdio>
#include <limits>

namespace {

class Lognormal final : public htfm::SlopeClock {
 public:
  using SlopeClock::SlopeClock;
  double tail_exponent() const override { return std::numeric_limits<double>::infinity(); }

 protected:
  // Slope i depends on the key and on i alone: results are then the same for any number of threads.
  void fill_slopes(htfm::Key key, int64_t first, int64_t n, double* slope) const override {
    const double sigma = parameter("sigma");
    htfm::fill_normal(key, static_cast<uint64_t>(first), n, slope);
    for (int64_t i = 0; i < n; ++i) slope[i] = std::exp(sigma * slope[i] - sigma * sigma / 2);  // of mean 1
  }
};

void register_lognormal() {
  htfm::register_clock({"lognormal",
                        "T_t = t V, V lognormal of mean 1",
                        {{"sigma", 0, 4, "deviation of log V"}},
                        [](htfm::ClockSpec spec) { return std::make_unique<Lognormal>(std::move(spec)); }});
}

}  // namespace

int main() try {
  register_lognormal();

  // E A = E V / 2 = 1/2, with deviation sqrt(exp(sigma^2) - 1) / 2 / sqrt(n).
  const int64_t n = 100000;
  const auto clock = htfm::make_clock({.family = "lognormal", .parameters = {{"sigma", 0.5}}});
  const double mean = clock->sample(htfm::Key(1), {.count = n, .paths = false}).area.mean().item<double>();
  if (std::abs(mean - 0.5) > 4 * std::sqrt(std::expm1(0.25) / 4 / n))
    throw htfm::Error("expected a mean area of 0.5, got {}", mean);

  const htfm::RunConfig config = htfm::parse_config(R"(
    data = {n = 500}
    clock = {family = "lognormal", sigma = 0.5}
    net = {width = 16, blocks = 1}
    train = {batch = 100, epochs = 4}
    sample = {n = 200, nfe = 6}
  )",
                                                    "own_clock");
  const htfm::Model model = htfm::train(config);
  const htfm::SampleResult result = htfm::sample(model, htfm::sample_options(config));
  std::printf("mean area %.4f, %d samples, %d not finite\n", mean, static_cast<int>(config.sample.n),
              static_cast<int>(result.diverged));
  return result.diverged == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
