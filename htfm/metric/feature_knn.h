// Precision and recall of k-nearest-neighbour balls in feature space (f1_knn's definition), with what they tell about
// classes. Distances come from matrix products, on the CPU or on a CUDA device.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "htfm/base/api.h"
#include "htfm/metric/precision_recall.h"

namespace htfm HTFM_PUBLIC {

struct FeatureNeighbours {
  KnnScore score;
  at::Tensor nearest;   // of each fake point: the index of the nearest real one (int64, CPU)
  at::Tensor distance;  // and how far it is (float64, CPU)
  at::Tensor covered;   // of each real point: whether it lies in the ball of some fake one (bool, CPU)
};

/// `real` and `fake`: n x d and m x d on one device, float32 or float64, finite.
FeatureNeighbours feature_neighbours(const at::Tensor& real, const at::Tensor& fake, int k = 3);

/// The nearest row of `real` for each row of `fake`, and its distance.
struct Nearest {
  at::Tensor index, distance;
};
Nearest nearest_features(const at::Tensor& real, const at::Tensor& fake);

/// One class of the real set, and the fake points whose nearest real point belongs to it.
struct ClassCoverage {
  int64_t real = 0, fake = 0;
  double recall = 0;  // share of the class's real points that are covered
};

/// `labels`: of the real points, 0 .. classes - 1 (int64, CPU).
std::vector<ClassCoverage> class_coverage(const FeatureNeighbours& neighbours, const at::Tensor& labels,
                                          int64_t classes);

}  // namespace htfm
