// All scores of image samples against a reference.
#pragma once

#include <vector>

#include "htfm/base/api.h"
#include "htfm/metric/feature_knn.h"
#include "htfm/metric/feature_reference.h"

namespace htfm HTFM_PUBLIC {

struct ImageScores {
  int64_t real = 0, fake = 0;  // images scored
  FrechetDistance distance;
  int k = 3;  // neighbours of precision and recall
  FeatureNeighbours neighbours;
  std::vector<ClassCoverage> classes;  // empty where the real images have no labels
  double class_distance = 0;           // total variation between the classes' shares of samples and of real images
};

/// `fake`: features of the samples by the reference's network, on the device where neighbours are to be found. `labels`
/// of the real images may be undefined.
ImageScores image_scores(const FeatureReference& reference, const at::Tensor& fake, const at::Tensor& labels = {},
                         int64_t classes = 0, int k = 3);

}  // namespace htfm
