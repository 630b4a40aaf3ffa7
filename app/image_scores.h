// Scores of generated images in the space of a feature network.
#pragma once

#include "app/common.h"
#include "htfm/data/dataset.h"
#include "htfm/metric/feature_network.h"

namespace htfm::app {

/// The real images of a comparison with their features, computed once.
class ImageReference {
 public:
  /// `data`: images as rows; `features`: a TorchScript file; `inception`: the SHA-256 that may be called FID.
  ImageReference(const Dataset& data, const std::string& features, at::Device device, const std::string& inception = "");

  /// Frechet distance, precision, recall and class counts of samples (n x dim, in [-1,1]); with what they were taken with.
  Json score(const at::Tensor& samples) const;
  const FeatureNetwork& network() const { return network_; }

 private:
  FeatureNetwork network_;
  Dataset data_;
  std::string name_;
  at::Tensor features_;
  FeatureMoments moments_;
};

}  // namespace htfm::app
