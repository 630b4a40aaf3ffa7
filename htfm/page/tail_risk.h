// Value at risk, expected shortfall and return levels by the generalised Pareto fit of each tail, and the plots that
// show whether its threshold is far enough out.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/report/page.h"
#include "htfm/tail/diagnosis.h"

namespace htfm HTFM_PUBLIC {

struct TailRiskOptions {
  std::vector<double> levels = {0.95, 0.99, 0.995, 0.999};
  std::vector<double> return_periods = {100, 200, 1000};  ///< in rows
  double interval = 0.95;
};

/// An aligned table: the sides of the first `columns` columns, at the levels and at those of the return periods.
std::string tail_risk_text(const Diagnosis& diagnosis, const TailRiskOptions& options = {}, int64_t columns = 12);

/// One JSON object: for each side "riskmeasures" (p, quantile, sfall) and "return_levels" (period, ...), with
/// intervals.
std::string tail_risk_json(const Diagnosis& diagnosis, const TailRiskOptions& options = {});

/// Threshold stability (shape and modified scale against the threshold) and the table of levels: a part of a page.
void add_tail_risk(report::Page& page, const TailReport& tail, const TailRiskOptions& options = {});

}  // namespace htfm
