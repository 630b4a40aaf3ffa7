// What a page shows of the tails of a data set.
#pragma once

#include "app/common.h"
#include "htfm/report/page.h"
#include "htfm/tail/diagnosis.h"

namespace htfm::app {

/// The verdicts as a table, and for the radius and the first `columns` columns the plots behind them.
void add_tail_sections(report::Page& page, const Diagnosis& diagnosis, int64_t columns = 12);

/// The diagnosis as figures: verdicts, indices with intervals, thresholds, return levels.
Json diagnosis_json(const Diagnosis& diagnosis);

/// The same as an aligned table of text.
std::string diagnosis_text(const Diagnosis& diagnosis);

}  // namespace htfm::app
