#include "htfm/model/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

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

std::vector<std::pair<std::string, std::string>> configuration_entries(const RunConfig& config) {
  std::vector<std::pair<std::string, std::string>> out;
  std::string section;
  const std::string text = format_config(config);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with('[')) section = line.substr(1, line.size() - 2) + ".";
    if (const size_t eq = line.find(" = "); eq != std::string::npos && !line.starts_with('[')) {
      std::string value = line.substr(eq + 3);
      if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
      if (!value.empty()) out.emplace_back(section + line.substr(0, eq), value);
    }
  }
  return out;
}

}  // namespace htfm
