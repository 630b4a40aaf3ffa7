#include "app/progress.h"

#include <fmt/format.h>

#include "app/common.h"

namespace htfm::app {

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
    status.show(fmt::format("step {}/{}  loss {:.4f}  {:.0f} steps/s  {}{}", p.step, p.steps, p.loss, p.steps_per_second,
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
