#include "htfm/rare/rare.h"

#include <fmt/format.h>

#include "htfm/base/error.h"
#include "htfm/rare/estimate.h"

namespace htfm {

namespace {

SampleOptions sampling(const Model& model, const RareOptions& options) {
  return options.sample ? *options.sample : sample_options(model.config());
}

EstimateOptions estimate_options(const Model& model, const RareOptions& o) {
  if (o.draws < 100) throw InputError("[rare events] expected at least 100 draws, got {}", o.draws);
  if (o.particles < 100) throw InputError("[rare events] expected at least 100 particles, got {}", o.particles);
  if (!(o.least > 0 && o.least < 0.5))
    throw InputError("[rare events] expected a least probability between 0 and 0.5, got {}", o.least);
  return {Key(sampling(model, o).seed).child("rare"), o.draws, o.particles, o.budget, o.least, o.splitting};
}

ModelSampler model_sampler(const Model& model, const RareOptions& options) {
  ModelSampler out(model, sampling(model, options));
  out.report = options.report;
  return out;
}

std::string text_of(const Event& event) {
  if (!event.condition.empty()) return event.condition;
  return fmt::format("{} > {}", event.statistic.function ? "statistic" : event.statistic.expression, event.above);
}

}  // namespace

EventProbability event_probability(const Model& model, const Event& event, const RareOptions& options) {
  const EstimateOptions own = estimate_options(model, options);
  ModelSampler sampler = model_sampler(model, options);
  return estimate_event(sampler, event_level(event, row_names(model), sampler, "where"), own);
}

RareQuantile rare_quantile(const Model& model, const Statistic& statistic, double probability,
                           const RareOptions& options) {
  const EstimateOptions own = estimate_options(model, options);
  ModelSampler sampler = model_sampler(model, options);
  return estimate_quantile(sampler, statistic_level(statistic, row_names(model), sampler, "beyond"), probability, own);
}

RareSamples sample_event(const Model& model, const Event& event, int64_t n, const RareOptions& options) {
  const EstimateOptions own = estimate_options(model, options);
  ModelSampler sampler = model_sampler(model, options);
  RareSamples out = draw_event(sampler, event_level(event, row_names(model), sampler, "where"), n, own);
  if (!out.probability.reached)
    throw InputError("[where] expected an event that happens, got '{}': its probability is 0 or below {:.2g}",
                     text_of(event), out.probability.upper);
  return out;
}

RareSamples sample_beyond(const Model& model, const Statistic& statistic, double level, int64_t n,
                          const RareOptions& options) {
  if (!(level >= 0.5 && level < 1))
    throw InputError("[beyond] expected a level from 0.5 to 1, such as 0.999, got {}", level);
  const EstimateOptions own = estimate_options(model, options);
  ModelSampler sampler = model_sampler(model, options);
  const RowLevel number = statistic_level(statistic, row_names(model), sampler, "beyond");
  RareSamples out = draw_beyond(sampler, number, 1 - level, n, own);
  if (!out.probability.reached)
    throw InputError(
        "[beyond] expected a statistic whose values are not all equal beyond {:.6g}, got one that is constant there",
        out.threshold->value);
  return out;
}

StatisticLevel parse_statistic_level(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string number = colon == std::string::npos ? text : text.substr(colon + 1);
  StatisticLevel out;
  size_t end = 0;
  try {
    out.level = std::stod(number, &end);
  } catch (const std::logic_error&) {
    end = std::string::npos;
  }
  if (number.empty() || end != number.size() || !(out.level >= 0.5 && out.level < 1))
    throw InputError("[--beyond] expected a level from 0.5 to 1, as in 0.999 or loss:0.999, got '{}'", text);
  if (colon != std::string::npos) out.statistic.expression = text.substr(0, colon);
  return out;
}

}  // namespace htfm
