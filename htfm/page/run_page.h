// The page about a scored run, or about several on one data set.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/evaluate/far_quantiles.h"
#include "htfm/evaluate/run.h"
#include "htfm/report/page.h"

namespace htfm HTFM_PUBLIC {

struct RunPageText {
  std::string title, lead;
  report::KeyValues provenance = {};  ///< what stands first at the foot: command, program
};

/// Samples, scores, tails (with `far` also beyond the data), clocks, losses and configuration; there must be at least
/// one run.
std::string run_page(const RunPageText& text, const std::vector<ScoredRun>& runs, const RunReference& reference,
                     const FarQuantiles* far = nullptr);

/// The scores as an aligned table, a column for each run by its name.
std::string scores_text(const std::vector<ScoredRun>& runs);

}  // namespace htfm
