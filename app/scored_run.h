// A trained model with its samples and scores, and the page that shows one or several of them.
#pragma once

#include <string>
#include <vector>

#include "app/common.h"
#include "htfm/metric/metric.h"
#include "htfm/model/loss_record.h"
#include "htfm/report/page.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

struct ScoredRun {
  std::string name;  ///< "HTFM-α 1.7"
  Model model;
  SampleOptions options;
  SampleResult sampled;
  MetricReport scores;
  LossRecord losses;
};

/// "HTFM-G", "HTFM-α 1.7", "HTFM-t 3", or the family's name: how the paper calls a clock. A baseline: "DLPM-α 1.7".
std::string variant_name(const ClockSpec& clock, const std::string& method = "htfm");

/// What samples are scored against: fresh points of a synthetic law, or the file's own rows.
struct Reference {
  Dataset data;
  std::string description;
  std::optional<MetricReport> yardstick;  ///< the score of two fresh draws of the law
};
Reference make_reference(const RunConfig& config, int64_t n, bool yardstick);

/// Samples a model and scores it; `status` shows progress under the name.
ScoredRun score_run(Model model, const SampleOptions& options, const Reference& reference, const std::string& run_folder);

/// The report of runs on one data set.
std::string report_page(const std::string& title, const std::string& lead, const std::vector<ScoredRun>& runs, const Reference& reference,
                        const std::string& command);

}  // namespace htfm::app
