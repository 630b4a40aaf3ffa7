// Samples of images against real ones, by the features of a network.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "htfm/base/api.h"
#include "htfm/data/image_set.h"
#include "htfm/metric/class_scores.h"
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
  at::Tensor kept = {};      ///< which of the samples they are (int64); undefined where all are

  /// What belongs to samples (a row each), without those that were left out.
  at::Tensor of_kept(const at::Tensor& rows) const { return kept.defined() ? rows.index_select(0, kept) : rows; }
};
/// `samples`: images of any kind that to_bytes takes; `where` is for messages. InputError where none is finite.
SampledImages sampled_images(const at::Tensor& samples, const std::string& where);
/// The same of a file (read_image_samples).
SampledImages read_sampled_images(const std::string& path, const std::optional<ImageShape>& shape = {});

/// The classes that `rows` samples in a file were drawn under, as `htfm sample` leaves them beside it
/// (<file>.conditions.csv): a class that is named by a number is that number, any other its code. Undefined where there
/// is no such file, or none with a column `class`.
at::Tensor read_class_numbers(const std::string& samples, int64_t rows);
/// These as labels of real images (int64). InputError for a class that they do not have.
at::Tensor labels_of_classes(const at::Tensor& numbers, const ImageSet& real);

struct ImageEvaluation {
  ImageScores scores;
  int64_t dimension = 0;  ///< of the features
  int64_t nonfinite = 0;
  double clipped_share = 0;
  at::Tensor features = {};  ///< of the samples, on the network's device

  /// Samples of class c to be expected, were they shared out as the real images are.
  double expected(size_t c) const;
};
/// `k`: neighbours of precision and recall.
ImageEvaluation evaluate_images(const ImageReference& real, const SampledImages& samples, int k = 3);

/// Samples class by class: their features (ImageEvaluation::features) and the class that each was asked for (int64, by
/// label). InputError where the real images have no labels.
ClassScores evaluate_classes(const ImageReference& real, const at::Tensor& features, const at::Tensor& asked);

/// The nearest real image of each sample, and how far it is.
Nearest nearest_images(const ImageReference& real, const SampledImages& samples);

}  // namespace htfm
