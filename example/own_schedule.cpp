// A schedule of one's own: between the straight line and the cosine alpha = sin^2(pi t/2), which is slow at both ends.
#include <htfm/sample/sampler.h>
#include <htfm/schedule/schedule.h>
#include <htfm/train/trainer.h>

#include <cmath>
#include <cstdio>

namespace {

class Cosine final : public htfm::Schedule {
 public:
  explicit Cosine(double blend) : blend_(blend) {}
  htfm::Coefficients at(double t, std::span<const double>) const override {
    const double alpha = (1 - blend_) * t + blend_ * (1 - std::cos(M_PI * t)) / 2,
                 slope = 1 - blend_ + blend_ * M_PI / 2 * std::sin(M_PI * t);
    return {alpha, 1 - alpha, slope, -slope};
  }

 private:
  double blend_;
};

}  // namespace

int main() try {
  htfm::register_schedule(
      {"cosine",
       "the straight line bent towards sin^2(pi t/2)",
       [](const htfm::ScheduleSpec& s) { return std::make_unique<Cosine>(s.options.number("blend")); },
       {{"blend", 0.5, "share of the cosine; 0: the straight line", 0, 0.99}}});

  // time_of is found from alpha and beta.
  const auto schedule = htfm::make_schedule({.name = "cosine"});
  for (const double t : {0.01, 0.3, 0.5, 0.9}) {
    const htfm::Coefficients c = schedule->at(t);
    if (std::abs(schedule->time_of(c.alpha / c.beta) - t) > 1e-12) throw htfm::Error("expected the time {} back", t);
  }

  const htfm::RunConfig config = htfm::parse_config(R"(
    data = {n = 500}
    path = {schedule = "cosine", cosine = {blend = 0.7}}
    net = {width = 16, blocks = 1}
    train = {batch = 100, epochs = 4}
    sample = {n = 200, nfe = 6}
  )",
                                                    "own_schedule");
  const htfm::Model model = htfm::train(config);
  const htfm::SampleResult result = htfm::sample(model, htfm::sample_options(config));
  std::printf("%d samples, %d not finite\n", static_cast<int>(config.sample.n), static_cast<int>(result.diverged));
  return result.diverged == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
