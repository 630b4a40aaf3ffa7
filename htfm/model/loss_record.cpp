#include "htfm/model/loss_record.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "htfm/io/json_lines.h"
#include "htfm/model/run_folder.h"

namespace htfm {

LossRecord read_losses(const std::string& run_folder) {
  LossRecord out;
  const std::string log = RunFolder(run_folder).log();
  if (run_folder.empty() || !std::filesystem::exists(log)) return out;
  for (const auto& line : JsonLines::read(log)) {
    if (!line.contains("step") || !line["step"].is_number() || !line.contains("loss") || !line["loss"].is_number())
      continue;
    out.step.push_back(line["step"]), out.loss.push_back(line["loss"]);
    if (line.contains("validation") && line["validation"].is_number())
      out.validated_step.push_back(line["step"]), out.validation.push_back(line["validation"]);
  }
  return out;
}

}  // namespace htfm
