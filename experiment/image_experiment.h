// An experiment on CIFAR10-LT: models with the same U-Net and budget, each sampled and scored in several ways.
#pragma once

#include <string>
#include <vector>

#include "experiment/reproduce.h"

namespace htfm::app {

struct ImageRun {
  std::string solver;
  int64_t nfe;
};

struct ImageVariant {
  std::string name;
  std::vector<std::string> settings;
  std::vector<ImageRun> runs;
};

struct ImageExperiment {
  std::string name, title, summary;
  int64_t epochs;  ///< of 125 steps
  std::vector<ImageVariant> variants;
};

/// Trains, samples and scores every variant; writes NAME.html and NAME.json. InputError without --data and --features.
Json run_image_experiment(const ReproduceOptions& options, const ImageExperiment& experiment);

/// Clocks at an equal budget, one long run, the baselines, and the paper's ablations of flow type, signature order,
/// evaluations and solver.
ImageExperiment image_equal_budget(bool as_published);
ImageExperiment image_long_run(bool as_published);
ImageExperiment image_baselines(bool as_published);
ImageExperiment image_flow_type(bool as_published);
ImageExperiment image_signature_order(bool as_published);
ImageExperiment image_nfe(bool as_published);
ImageExperiment image_solver(bool as_published);

}  // namespace htfm::app
