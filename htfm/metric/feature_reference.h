// The reference of image scores: features of the real images with their moments, kept in a file so that they are
// computed once.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/metric/feature_network.h"
#include "htfm/metric/frechet.h"

namespace htfm HTFM_PUBLIC {

struct FeatureReference {
  at::Tensor features = {};       // n x d, float32 on the CPU
  FeatureMoments moments = {};    // of them
  std::string data_hash = {};     // of the images
  std::string network_hash = {};  // SHA-256 of the feature network
};

/// Features of images, batch by batch, with their moments.
FeatureReference make_reference(const FeatureNetwork& network, const at::Tensor& images, const std::string& data_hash,
                                int64_t batch = 500);

/// Writes a reference as safetensors, and reads it back. InputError where the file is damaged, is something else, or
/// holds features of other data or of another network.
void save_reference(const std::string& path, const FeatureReference& reference);
FeatureReference load_reference(const std::string& path, const std::string& data_hash, const std::string& network_hash);

/// The reference from the file `cache` where it exists; otherwise made, and kept there unless `cache` is empty.
FeatureReference cached_reference(const FeatureNetwork& network, const at::Tensor& images, const std::string& data_hash,
                                  const std::string& cache, int64_t batch = 500);

}  // namespace htfm
