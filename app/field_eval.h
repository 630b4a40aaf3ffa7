// Scores of fields as `htfm eval` and `htfm report` print them.
#pragma once

#include "app/common.h"
#include "htfm/evaluate/fields.h"

namespace htfm::app {

struct FieldEvalOptions {
  FieldEvaluationOptions evaluation{.shown = 8};
  std::string maps, page;  ///< files to write: .png, .html

  /// Adds --part, --channel, --wet, --cut, --blocks, --maps, --page and --shown.
  void add(CLI::App& command);
};

/// The figures of an evaluation; `json`: for a program.
Json field_figures(const std::string& real, const std::string& fake, const FieldEvaluation& evaluation, bool json);

/// `htfm eval` of fields: scores, and the files that are asked for.
Json eval_fields(const std::string& real, const std::string& fake, const FieldEvalOptions& options, bool json);

}  // namespace htfm::app
