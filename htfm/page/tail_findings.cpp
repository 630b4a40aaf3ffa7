#include "htfm/page/tail_findings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/page/joint_text.h"
#include "htfm/page/tail_text.h"

namespace htfm {

TailFindings find_tails(const std::string& name, const Dataset& data, const DiagnosisOptions& options) {
  Diagnosis diagnosis = diagnose(data.rows, data.names, options);
  if (static_cast<int64_t>(diagnosis.constant.size()) == data.rows.size(1))
    throw InputError("[tails] {}: expected a column that varies, got only constant ones", name);
  ChosenClock clock = suggest_clock(diagnosis);
  JointExtremes joint = diagnose_joint(data.rows, data.names, {.level = options.threshold.level, .seed = options.seed});
  return {std::move(diagnosis), std::move(clock), std::move(joint)};
}

std::string tail_findings_text(const TailFindings& f, const TailRiskOptions& risk) {
  const Diagnosis& d = f.diagnosis;
  std::string out = diagnosis_text(d);
  if (const Interval range = d.direction_indices(); range.lower <= range.upper)
    out +=
        fmt::format("{} random directions: indices {:.3g} to {:.3g}\n", d.directions.size(), range.lower, range.upper);
  for (const std::string& name : d.constant) out += fmt::format("{}: constant, left out\n", name);
  if (const int64_t most = d.most_skewed(); most >= 0)
    out += fmt::format("\nskewness: {}: {}\n", d.skewness[static_cast<size_t>(most)].name,
                       d.skewness[static_cast<size_t>(most)].sentence);
  for (const std::string& text : {tail_risk_text(d, risk), joint_text(f.joint)})
    if (!text.empty()) out += "\n" + text;
  return out + fmt::format("\nverdict: {}\nclock: {}\n{}\n", d.sentence, f.clock.spec.describe(), f.clock.explanation);
}

std::string tail_findings_json(const TailFindings& f, const TailRiskOptions& risk) {
  using Json = nlohmann::ordered_json;
  Json out = Json::parse(diagnosis_json(f.diagnosis));
  Json suggested{{"family", f.clock.spec.family}};
  for (const auto& [name, value] : f.clock.spec.parameters) suggested[name] = value;
  suggested["explanation"] = f.clock.explanation;
  out["suggested_clock"] = suggested;
  out["risk"] = Json::parse(tail_risk_json(f.diagnosis, risk));
  out["extremes"] = Json::parse(joint_json(f.joint));
  return out.dump();
}

}  // namespace htfm
