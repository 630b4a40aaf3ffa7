// Scores of generated images in the space of a feature network.
#pragma once

#include <optional>

#include "app/common.h"
#include "htfm/data/dataset.h"
#include "htfm/metric/image_scores.h"

namespace htfm::app {

/// How real images become a reference.
struct ReferenceOptions {
  std::string cache = {};      ///< file that keeps their features; made where it does not exist
  std::string inception = {};  ///< the SHA-256 that may be called FID
  int64_t batch = 500;         ///< images that go through the feature network at once

  /// Adds --reference-cache and --batch.
  void add(CLI::App& command);
};

/// Adds --kind, --subset and --imbalance of real images.
void add_image_choice(CLI::App& command, ImageSpec& spec);

/// Samples as bytes: those with a value that is not finite are left out and counted.
struct SampledImages {
  at::Tensor pixels;  ///< n x c x h x w
  int64_t nonfinite = 0;
  double clipped_share = 0;  ///< of the values: beyond [-1,1]
};
SampledImages sampled_images(const at::Tensor& samples, const std::string& what);

/// The real images of a comparison with their features, computed once.
class ImageReference {
 public:
  /// `data`: images as rows; `features`: a TorchScript file.
  ImageReference(const Dataset& data, const std::string& features, at::Device device, ReferenceOptions options = {});

  /// Frechet distance, precision, recall and class counts of samples (rows or images, in [-1,1] or bytes); with what they were taken with.
  Json score(const at::Tensor& samples, int k = 3) const;
  /// The nearest real image of each sample.
  Nearest nearest(const SampledImages& samples) const;
  const FeatureNetwork& network() const { return network_; }
  const Dataset& data() const { return data_; }

 private:
  FeatureNetwork network_;
  Dataset data_;
  ReferenceOptions options_;
  FeatureReference reference_;
};

}  // namespace htfm::app
