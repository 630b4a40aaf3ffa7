#include "app/progress.h"

#include <fmt/format.h>

#include "app/common.h"

namespace htfm::app {

namespace {
std::string speed_text(double steps_per_second) {
  if (steps_per_second < 1) return fmt::format("{:.3g} s/step", 1 / std::max(steps_per_second, 1e-9));
  return fmt::format("{:.{}f} steps/s", steps_per_second, steps_per_second < 10 ? 1 : 0);
}
}  // namespace

Model train_with_status(const RunConfig& config, TrainOptions options, const std::string& name) {
  StatusLine status(name.empty() ? "" : name + ": ");
  options.started = [&](const Model& model) {
    if (const std::string text = model.method().describe(); !text.empty())
      say(fmt::format("{}{}: {}", name.empty() ? "" : name + ": ", config.method, text));
    if (!model.clock_explanation().empty())
      say(fmt::format("{}clock {}: {}", name.empty() ? "" : name + ": ", model.clock().describe(), model.clock_explanation()));
  };
  options.report = [&](const TrainProgress& p) {
    const double left = static_cast<double>(p.steps - p.step) / std::max(p.steps_per_second, 1e-9);
    status.show(fmt::format("step {}/{}  loss {:.4f}  {}  {}{}", p.step, p.steps, p.loss, speed_text(p.steps_per_second),
                            p.last ? "done in " + duration_text(p.seconds) : duration_text(left) + " left",
                            p.skipped > 0 ? fmt::format("  {} steps skipped", p.skipped) : ""),
                p.last);
  };
  return train(config, options);
}

SampleResult sample_with_status(const Model& model, SampleOptions options, const std::string& name) {
  StatusLine status(name.empty() ? "" : name + ": ");
  options.report = [&](int64_t done, int64_t n) { status.show(fmt::format("{}/{} samples", done, n), done == n); };
  return sample(model, options);
}

}  // namespace htfm::app
