#include "app/progress.h"

#include <fmt/format.h>

#include <memory>

#include "app/common.h"
#include "app/stop_signals.h"
#include "htfm/base/error.h"
#include "htfm/page/figures_json.h"
#include "htfm/report/text.h"

namespace htfm::app {

namespace {
std::string speed_text(double steps_per_second) {
  if (steps_per_second < 1) return fmt::format("{:.3g} s/step", 1 / std::max(steps_per_second, 1e-9));
  return fmt::format("{:.{}f} steps/s", steps_per_second, steps_per_second < 10 ? 1 : 0);
}
}  // namespace

void say_model(const Model& model, const std::string& name) {
  const std::string prefix = name.empty() ? "" : name + ": ";
  if (const std::string text = model.method().describe(); !text.empty())
    say(prefix + model.config().method + ": " + text);
  if (model.condition().there()) say(prefix + "given: " + model.condition().describe());
  if (!model.clock_explanation().empty())
    say(fmt::format("{}clock {}: {}", prefix, model.clock().describe(), model.clock_explanation()));
}

std::string progress_text(const TrainProgress& p) {
  const double left = static_cast<double>(p.steps - p.step) / std::max(p.steps_per_second, 1e-9);
  std::string waiting;
  for (const double share : p.waiting) waiting += fmt::format("{}{:.0f}", waiting.empty() ? "" : "/", 100 * share);
  return fmt::format("step {}/{}  loss {:.4f}  {}  {}{}{}", p.step, p.steps, p.loss, speed_text(p.steps_per_second),
                     p.last ? "done in " + report::duration(p.seconds) : report::duration(left) + " left",
                     p.skipped > 0 ? fmt::format("  {} steps skipped", p.skipped) : "",
                     waiting.empty() ? "" : fmt::format("  {} processes wait {} %", p.waiting.size(), waiting));
}

Model train_with_status(const RunConfig& config, TrainOptions options, const std::string& name) {
  StatusLine status(name.empty() ? "" : name + ": ");
  options.started = [&](const Model& model) { say_model(model, name); };
  options.note = say;
  const StopSignals signals;
  options.stop = StopSignals::came;
  options.report = options.status = [&](const TrainProgress& p) { status.show(progress_text(p), p.last); };
  return train(config, options);
}

std::function<void(int64_t done, int64_t n)> sample_status(const std::string& name) {
  return [line = std::make_shared<StatusLine>(name.empty() ? "" : name + ": ")](int64_t done, int64_t n) {
    line->show(fmt::format("{}/{} samples", done, n), done == n);
    if (StopSignals::came() && done < n) throw Interrupted("stopped after {} of {} samples", done, n);
  };
}

SampleResult sample_with_status(const Model& model, SampleOptions options, const std::string& name) {
  options.report = sample_status(name);
  return sample(model, options);
}

Json sample_figures(const Model& model, const SampleOptions& options, const SampleResult& result,
                    const std::string& file) {
  return Json::parse(sample_json(model, options, result, file));
}

}  // namespace htfm::app
