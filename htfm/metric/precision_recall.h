// f1_knn: precision and recall of k-nearest-neighbour balls (Kynkaanniemi et al. 2019), as the paper writes its 2D
// score.
#pragma once

#include "htfm/base/api.h"
#include "htfm/stat/points.h"

namespace htfm HTFM_PUBLIC {

struct KnnScore {
  double precision = 0;  // share of the fake points that lie in the ball of some real point
  double recall = 0;     // share of the real points that lie in the ball of some fake point
  double f1 = 0;         // harmonic mean
};

/// The ball of a point reaches to its k-th neighbour in its own set, itself left out; its boundary belongs to it. Any
/// dimension, sizes may differ.
KnnScore f1_knn(const at::Tensor& real, const at::Tensor& fake, int k = 10);
KnnScore f1_knn(const Points& real, const Points& fake, int k = 10);

/// Harmonic mean of precision and recall; 0 when both are 0.
double harmonic_mean(double precision, double recall);

}  // namespace htfm
