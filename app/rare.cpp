#include "app/rare.h"

#include <fmt/format.h>

#include <chrono>

#include "app/progress.h"
#include "app/stop_signals.h"
#include "htfm/base/error.h"
#include "htfm/rare/rare.h"
#include "htfm/rare/rare_file.h"

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

void RareChoice::add(CLI::App& command) {
  command.add_option("--beyond", beyond,
                     "Only samples whose size is beyond the model's quantile at this level, as in 0.999; of another "
                     "number: loss:0.999, a+b:0.999");
  command.add_option("--where", where, "Only samples that meet a condition: \"loss > 5e6 and region_a > 0\"");
}

Json sample_rare(const Model& model, const SampleOptions& options, const RareChoice& choice, const RareOutput& output) {
  if (!choice.beyond.empty() && !choice.where.empty())
    throw InputError("[--beyond] expected it without --where, got both: a condition may say size > NUMBER");
  const auto started = std::chrono::steady_clock::now();
  RareOptions rare{.sample = options, .report = rare_status()};
  const bool only_probability = output.file.empty();
  if (only_probability && output.n > 0) rare.draws = output.n;
  Json j;
  if (!choice.beyond.empty()) {
    const StatisticLevel b = parse_statistic_level(choice.beyond);
    j["event"] = fmt::format("{} beyond its {} quantile", b.statistic.expression, b.level);
    if (only_probability) {
      const RareQuantile q = rare_quantile(model, b.statistic, 1 - b.level, rare);
      add_threshold(j, q);
      j["effective_samples"] = q.effective, j["method"] = q.method, j["network_samples"] = q.samples;
    } else {
      const RareSamples drawn = sample_beyond(model, b.statistic, b.level, output.n, rare);
      write_rare_samples(model, drawn, output.file, output.weights);
      add_threshold(j, *drawn.threshold);
      add_probability(j, drawn.probability);
    }
  } else {
    j["event"] = choice.where;
    if (only_probability) {
      const EventProbability p = event_probability(model, {.condition = choice.where}, rare);
      add_probability(j, p);
      if (!p.reached)
        say(fmt::format("not one sample met '{}': it never happens, or with a probability below {:.2g}", choice.where,
                        p.upper));
    } else {
      const RareSamples drawn = sample_event(model, {.condition = choice.where}, output.n, rare);
      write_rare_samples(model, drawn, output.file, output.weights);
      add_probability(j, drawn.probability);
    }
  }
  if (!only_probability) {
    j["samples"] = output.n, j["file"] = output.file;
    if (!output.weights.empty()) j["weights_file"] = output.weights;
    if (output.weights.empty() && output.file.ends_with(".npy"))
      say("the samples' weights are not written: --weights w.npy keeps them");
  }
  j["clock"] = model.clock().describe(), j["solver"] = options.solver, j["nfe"] = options.solve.nfe;
  j["step"] = model.step, j["seed"] = options.seed;
  j["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return j;
}

}  // namespace htfm::app
