// Samples of fields against prepared ones, as `htfm eval` and `htfm report` need them.
#pragma once

#include "app/common.h"
#include "htfm/field/field_set.h"
#include "htfm/metric/field_scores.h"
#include "htfm/report/page.h"

namespace htfm::app {

struct FieldEvalOptions {
  std::string real, fake;         ///< a prepared set; samples (.npy) or another set
  std::string part = "held-out";  ///< of the sets: held-out, train or all
  int64_t channel = 0;
  double wet = -1;  ///< negative: the set's threshold, or 0.1
  FieldScoreOptions scores;
  std::string maps, page;  ///< files to write: .png, .html
  int64_t shown = 8;       ///< maps of each set

  /// Adds --part, --channel, --wet, --cut, --blocks, --maps, --page and --shown.
  void add(CLI::App& command);
};

/// Scores, and the files that are asked for.
struct FieldEval {
  FieldScores scores;
  Json figures;
};
FieldEval eval_fields(const FieldEvalOptions& options, bool json, const std::string& command);

/// Scores, curves and maps as sections of a page.
void add_field_sections(report::Page& page, const FieldScores& scores, const at::Tensor& maps, const std::string& unit,
                        const std::string& reference);

}  // namespace htfm::app
