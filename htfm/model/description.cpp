#include "htfm/model/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/model/model.h"

namespace htfm {

ModelDescription Model::describe() const {
  return {.method = config_.method,
          .clock = clock().describe(),
          .feature = method().feature().description(),
          .schedule = config_.path.name,
          .coupling = config_.coupling.kind,
          .precondition = config_.precondition,
          .data_scale = data_scale().describe(),
          .network = config_.net.kind,
          .parameters = network().layout().count(),
          .dimension = dim(),
          .step = step,
          .skipped_steps = skipped,
          .data = data_origin(),
          .data_hash = data_hash(),
          .weights_hash = weights_hash(),
          .seed = config_.seed,
          .method_options = method().describe(),
          .condition = condition().describe(),
          .clock_explanation = clock_explanation()};
}

void Model::check_clock(const ClockSpec& asked) const {
  ClockSpec law = asked;
  if (law.family.empty()) law.family = clock().family;
  law.grid = clock().grid;
  if (law.describe() != clock().describe())
    throw InputError("[clock] expected the clock that the run was trained with, {}; got {} (htfm info shows it)",
                     clock().describe(), law.describe());
}

std::string variant_name(const ClockSpec& clock, const std::string& method) {
  std::string name = method;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (clock.family == "deterministic") return name + "-G";
  if (clock.family == "stable") return fmt::format("{}-α {}", name, clock.parameters.at("alpha"));
  if (clock.family == "inverse-gamma") return fmt::format("{}-t {}", name, clock.parameters.at("nu"));
  if (clock.family == "fitted") return name + "-fitted";
  return clock.describe();
}

std::string description_json(const ModelDescription& d) {
  nlohmann::ordered_json j{{"method", d.method},
                           {"clock", d.clock},
                           {"feature", d.feature},
                           {"schedule", d.schedule},
                           {"coupling", d.coupling},
                           {"precondition", d.precondition},
                           {"data_scale", d.data_scale},
                           {"network", d.network},
                           {"parameters", d.parameters},
                           {"dimension", d.dimension},
                           {"step", d.step},
                           {"skipped_steps", d.skipped_steps},
                           {"data", d.data},
                           {"data_hash", d.data_hash},
                           {"weights_hash", d.weights_hash},
                           {"seed", d.seed}};
  if (!d.condition.empty()) j["condition"] = d.condition;
  if (!d.method_options.empty()) j["method_options"] = d.method_options;
  if (!d.clock_explanation.empty()) j["clock_explanation"] = d.clock_explanation;
  return j.dump();
}

}  // namespace htfm
