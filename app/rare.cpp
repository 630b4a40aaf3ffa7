#include "app/rare.h"

#include <fmt/format.h>

#include <chrono>

#include "app/progress.h"
#include "app/stop_signals.h"
#include "htfm/base/error.h"

namespace htfm::app {

namespace {

void add_probability(Json& j, const EventProbability& p) {
  j["probability"] = p.probability;
  j["standard_error"] = p.standard_error;
  j["lower"] = p.lower, j["upper"] = p.upper;
  j["effective_samples"] = p.effective;
  j["reached"] = p.reached;
  j["method"] = p.method;
  j["network_samples"] = p.samples;
}

void add_threshold(Json& j, const RareQuantile& q) {
  j["threshold"] = q.value;
  j["threshold_lower"] = q.lower, j["threshold_upper"] = q.upper;
}

std::function<void(int64_t)> rare_status() {
  return [line = std::make_shared<StatusLine>()](int64_t samples) {
    line->show(fmt::format("{} network samples", samples));
    if (StopSignals::came()) throw Interrupted("stopped after {} network samples; nothing is written", samples);
  };
}

}  // namespace

void add_rare(CLI::App& command, RareRequest& request) {
  command.add_option("--beyond", request.beyond,
                     "Only samples whose size is beyond the model's quantile at this level, such as 0.999; for another "
                     "quantity: loss:0.999, a+b:0.999");
  command.add_option("--where", request.where, "Only samples that meet a condition: \"loss > 5e6 and region_a > 0\"");
}

Json sample_rare(const Model& model, const SampleOptions& options, const RareRequest& request) {
  const auto started = std::chrono::steady_clock::now();
  const RareAnswer answer = answer_rare(model, request, {.sample = options, .report = rare_status()});
  Json j{{"event", answer.event}};
  if (answer.threshold) add_threshold(j, *answer.threshold);
  if (answer.probability)
    add_probability(j, *answer.probability);
  else
    j["effective_samples"] = answer.threshold->effective, j["method"] = answer.threshold->method,
    j["network_samples"] = answer.threshold->samples;
  if (request.file.empty() && answer.probability && !answer.probability->reached)
    say(fmt::format("no sample met '{}': it never happens, or its probability is below {:.2g}", answer.event,
                    answer.probability->upper));
  if (!request.file.empty()) {
    j["samples"] = request.n, j["file"] = request.file;
    if (!request.weights.empty()) j["weights_file"] = request.weights;
    if (request.weights.empty() && request.file.ends_with(".npy"))
      say("the samples' weights are not written: --weights w.npy keeps them");
  }
  j["clock"] = model.clock().describe(), j["solver"] = options.solver, j["nfe"] = options.solve.nfe;
  j["step"] = model.step, j["seed"] = options.seed;
  j["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return j;
}

}  // namespace htfm::app
