#include "htfm/rare/rare_request.h"

#include <fmt/format.h>

#include "htfm/base/error.h"
#include "htfm/rare/rare_file.h"

namespace htfm {

namespace {

RareAnswer answer_beyond(const Model& model, const RareRequest& request, const RareOptions& options) {
  const StatisticLevel asked = parse_statistic_level(request.beyond);
  RareAnswer out{.event = fmt::format("{} beyond its {} quantile", asked.statistic.expression, asked.level)};
  if (request.file.empty()) {
    out.threshold = rare_quantile(model, asked.statistic, 1 - asked.level, options);
    return out;
  }
  const RareSamples drawn = sample_beyond(model, asked.statistic, asked.level, request.n, options);
  write_rare_samples(model, drawn, request.file, request.weights);
  out.threshold = drawn.threshold, out.probability = drawn.probability;
  return out;
}

RareAnswer answer_where(const Model& model, const RareRequest& request, const RareOptions& options) {
  const Event event{.condition = request.where};
  RareAnswer out{.event = request.where};
  if (request.file.empty()) {
    out.probability = event_probability(model, event, options);
    return out;
  }
  const RareSamples drawn = sample_event(model, event, request.n, options);
  write_rare_samples(model, drawn, request.file, request.weights);
  out.probability = drawn.probability;
  return out;
}

}  // namespace

RareAnswer answer_rare(const Model& model, const RareRequest& request, const RareOptions& options) {
  if (!request.beyond.empty() && !request.where.empty())
    throw InputError("[--beyond] expected it without --where, got both: a condition may say size > NUMBER");
  RareOptions own = options;
  if (request.file.empty() && request.n > 0) own.draws = request.n;
  return request.beyond.empty() ? answer_where(model, request, own) : answer_beyond(model, request, own);
}

}  // namespace htfm
