// A trained model with its samples and their scores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/metric/metric.h"
#include "htfm/model/loss_record.h"
#include "htfm/model/model.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

/// What samples of a run are scored against: fresh points of a synthetic law, or the file's own rows.
struct RunReference {
  Dataset data;
  std::string description;
  std::optional<MetricReport>
      yardstick;  ///< the score of two fresh draws of the law, where it was asked for and is known
};
RunReference make_run_reference(const RunConfig& config, int64_t n, bool yardstick);

struct ScoredRun {
  std::string name;  ///< "HTFM-α 1.7"
  Model model;
  SampleOptions options;
  SampleResult sampled;
  MetricReport scores;
  LossRecord losses;
};

/// Samples a model and scores it with every metric. `run_folder`: where its losses are, or empty.
ScoredRun score_run(Model model, const SampleOptions& options, const RunReference& reference,
                    const std::string& run_folder = "");

/// Refuses two runs whose scores do not compare, since they were not trained on the same points, or are of fields. The
/// names are for the message.
void check_comparable(const Model& first, const Model& other, const std::string& first_name,
                      const std::string& other_name);

}  // namespace htfm
