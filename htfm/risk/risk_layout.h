// Which losses a report of risk has, and its tables before they are filled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/risk/risk.h"

namespace htfm {

/// The columns of numbers: categories and dates are no losses.
std::vector<int64_t> loss_columns(const Model& model);
std::vector<std::string> loss_names(const Model& model);
/// The report of these options without figures.
RiskReport laid_out_report(const Model& model, const RiskOptions& o);

}  // namespace htfm
