// An experiment on CIFAR10-LT: models with the same U-Net and budget, each sampled and scored in several ways.
#pragma once

#include <string>
#include <vector>

#include "experiment/reproduce.h"
#include "htfm/evaluate/images.h"

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

constexpr int64_t kImageEpochs = 160;  ///< of 125 steps: 20,000

struct ImageExperiment {
  std::string name, title, summary;
  int64_t epochs;  ///< of 125 steps
  std::vector<ImageVariant> variants;
};

/// Trains, samples and scores every variant; writes NAME.html and NAME.json. InputError without --data and --features.
Json run_image_experiment(const ReproduceOptions& options, const ImageExperiment& experiment);

/// The training that all experiments on CIFAR10-LT share: the paper's settings. Of the official CIFAR-10 the long tail
/// is used.
std::vector<std::string> image_settings(const ReproduceOptions& options, int64_t epochs, int64_t seed);

/// Our own algorithm with a stable clock, as in the table of clocks: under the same name it is the same model.
ImageVariant our_images(double alpha, const std::vector<ImageRun>& runs);

/// InputError where --data or --features, which both are needed, is missing.
void check_image_options(const ReproduceOptions& options, const std::string& experiment);
/// The images that a cell is trained on, with the features of --features.
ImageReference image_reference(const ReproduceOptions& options, const RunConfig& config, at::Device device);

/// Samples (n x dim) of images like those.
SampledImages images_like(const ImageReference& real, const at::Tensor& samples);

/// Frechet distance, precision, recall, class counts and recalls of samples, for a cell.
Json image_figures(const ImageReference& real, const SampledImages& fake, const ImageScores& scores,
                   const std::string& inception);

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
