// Samples of images against real ones, as `htfm eval` and `htfm grid` need them.
#pragma once

#include <memory>
#include <optional>

#include "app/common.h"
#include "htfm/data/image_set.h"
#include "htfm/metric/image_scores.h"

namespace htfm::app {

/// Options that name real images, a feature network and where its features are kept.
struct ImageReferenceOptions {
  ImageSpec real;
  std::string features, cache;
  int64_t batch = 500;

  /// Adds --features, --reference-cache, --kind, --subset, --imbalance and --batch; --real is the command's own.
  void add(CLI::App& command);
};

/// Real images with their features.
struct ImageReference {
  ImageSet images;
  std::unique_ptr<FeatureNetwork> network;
  FeatureReference reference;
};
/// `device`: one that Common::network_device has found usable.
ImageReference load_reference(const ImageReferenceOptions& options, at::Device device);
ImageReference load_reference(ImageSet images, const ImageReferenceOptions& options, at::Device device);

/// Samples as bytes: those with a value that is not finite are left out and counted.
struct SampledImages {
  at::Tensor pixels;
  int64_t nonfinite = 0;
  double clipped_share = 0;  ///< of the values
};
/// `samples`: images of any kind that to_bytes takes; `where` is for messages.
SampledImages sampled_images(const at::Tensor& samples, const std::string& where);
SampledImages load_samples(const std::string& path, const std::optional<ImageShape>& shape);

/// `htfm eval` with --features.
struct ImageEvalOptions {
  ImageReferenceOptions reference;
  std::string fake, split = "train", inception, about;
  int k = 3;
};
Json eval_images(const ImageEvalOptions& options, const Common& common);

}  // namespace htfm::app
