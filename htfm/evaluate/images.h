// Samples of images against real ones, by the features of a network.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "htfm/base/api.h"
#include "htfm/data/image_set.h"
#include "htfm/metric/image_scores.h"

namespace htfm HTFM_PUBLIC {

/// A feature network and how it is run.
struct ImageFeatureSpec {
  std::string network;           ///< a TorchScript file
  std::string cache = {};        ///< keeps the features of the real images; made where it does not exist
  int64_t batch = 500;           ///< images at once
  at::Device device = at::kCPU;  ///< as choose_device gives it
  std::function<void(int64_t done, int64_t all)> report = {};  ///< called after each batch
};

/// Real images with their features.
struct ImageReference {
  ImageSet images;
  std::unique_ptr<FeatureNetwork> network;
  FeatureReference reference;
  int64_t batch = 500;
};
ImageReference make_image_reference(ImageSet images, const ImageFeatureSpec& features);

/// Samples as bytes: those with a value that is not finite are left out and counted.
struct SampledImages {
  at::Tensor pixels;
  int64_t nonfinite = 0;
  double clipped_share = 0;  ///< of the values
};
/// `samples`: images of any kind that to_bytes takes; `where` is for messages. InputError where none is finite.
SampledImages sampled_images(const at::Tensor& samples, const std::string& where);
/// The same of a file (read_image_samples).
SampledImages read_sampled_images(const std::string& path, const std::optional<ImageShape>& shape = {});

struct ImageEvaluation {
  ImageScores scores;
  int64_t dimension = 0;  ///< of the features
  int64_t nonfinite = 0;
  double clipped_share = 0;

  /// Samples of class c to be expected, were they shared out as the real images are.
  double expected(size_t c) const;
};
/// `k`: neighbours of precision and recall.
ImageEvaluation evaluate_images(const ImageReference& real, const SampledImages& samples, int k = 3);

/// The nearest real image of each sample, and how far it is.
Nearest nearest_images(const ImageReference& real, const SampledImages& samples);

}  // namespace htfm
