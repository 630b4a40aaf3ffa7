// The main job on built-in data, from training to the page: three clocks on the 2D mixture, side by side.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/evaluate/far_quantiles.h"
#include "htfm/evaluate/run.h"
#include "htfm/report/page.h"
#include "htfm/train/trainer.h"

namespace htfm HTFM_PUBLIC {

struct DemoOptions {
  std::string folder;  ///< runs, samples and report.html
  int64_t epochs = 100;
  int64_t seed = 0;
  report::KeyValues provenance = {};  ///< what stands first at the foot of the page
  /// Trains a model, where somebody watches; otherwise train() does.
  std::function<Model(const RunConfig& config, const TrainOptions& options, const std::string& name)> train = {};
  /// What a sampler of the model `name` reports to.
  std::function<std::function<void(int64_t done, int64_t n)>(const std::string& name)> sampled = {};
  std::function<void(const std::string& sentence)> note = {};
};

struct Demo {
  std::vector<ScoredRun> runs;
  RunReference reference;
  FarQuantiles far;
  std::string page;  ///< its file
};

/// The page is written after each model, so that there is a first picture soon. Models that are in the folder already
/// are not trained again.
Demo run_demo(const DemoOptions& options);

}  // namespace htfm
