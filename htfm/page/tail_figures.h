// The plots behind a verdict on one tail.
#pragma once

#include "htfm/report/page.h"
#include "htfm/tail/diagnosis.h"

namespace htfm {

/// The verdict in words, estimates and tests against the threshold, mean excess, quantiles, and return levels.
void add_tail_figures(report::Page& page, const TailReport& tail);

}  // namespace htfm
