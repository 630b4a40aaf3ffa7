// Everything that `htfm tails` says of a table: its tails, whether extremes come together, and the clock that fits.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/data/dataset.h"
#include "htfm/model/choose_clock.h"
#include "htfm/page/tail_risk.h"
#include "htfm/tail/diagnosis.h"
#include "htfm/tail/joint_extremes.h"

namespace htfm HTFM_PUBLIC {

struct TailFindings {
  Diagnosis diagnosis;
  ChosenClock clock;
  JointExtremes joint;
};

/// InputError where every column is constant; `name` is for the message.
TailFindings find_tails(const std::string& name, const Dataset& data, const DiagnosisOptions& options);

/// Tables for the eye, then the verdict and the clock.
std::string tail_findings_text(const TailFindings& findings, const TailRiskOptions& risk);
/// The same as one JSON object.
std::string tail_findings_json(const TailFindings& findings, const TailRiskOptions& risk);

}  // namespace htfm
