// The page about samples of fields.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/evaluate/fields.h"
#include "htfm/model/loss_record.h"
#include "htfm/report/page.h"

namespace htfm HTFM_PUBLIC {

/// Maps of the examples, real fields first, on one scale of colours: 3 x H x W of bytes. The evaluation must have
/// examples.
at::Tensor field_example_maps(const FieldEvaluation& evaluation);

/// The run that drew the samples, where it is known.
struct FieldPageRun {
  std::string clock = {};                ///< in words
  report::KeyValues configuration = {};  ///< config_entries
  LossRecord losses = {};
};

/// Maps, scores, tails and structure, and of a run its losses and configuration; the evaluation must have examples.
/// `provenance`: what stands first at the foot.
std::string field_page(const std::string& title, const FieldEvaluation& evaluation,
                       const report::KeyValues& provenance = {}, const FieldPageRun& run = {});

/// Samples a model of fields, scores it against its set and writes its page. Samples go through a file beside the page:
/// they need not fit in memory. `run_folder`: where its losses are.
ScoredFieldRun write_field_run_page(const Model& model, const SampleOptions& options, const std::string& run_folder,
                                    const std::string& path, report::KeyValues provenance = {});

}  // namespace htfm
