// A risk report as text, as JSON, as files and as a section of a page.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/report/page.h"
#include "htfm/risk/risk.h"

namespace htfm HTFM_PUBLIC {

/// Aligned tables: value at risk and expected shortfall, return levels, joint exceedances, stress; then the notes.
std::string risk_text(const RiskReport& report);

/// One JSON object with every figure: {"value", "interval"}; null where it is not known or an end is infinite.
std::string risk_json(const RiskReport& report);

/// A section "Risk" with the same tables.
void add_risk_section(report::Page& page, const RiskReport& report);
/// A page of its own; `name` says what was measured.
std::string risk_page(const std::string& name, const RiskReport& report, const report::KeyValues& origin = {});

/// Writes risk.json, risk.html, measures.csv, joint.csv, stress.csv and, for the portfolio or else for each stressed
/// column, the scenarios beyond the stress level (scenarios_NAME.csv) into a folder. Returns the names of the files.
std::vector<std::string> write_risk(const std::string& folder, const std::string& name, const RiskReport& report,
                                    const report::KeyValues& origin = {});

}  // namespace htfm
