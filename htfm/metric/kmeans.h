// Mini-batch k-means (Sculley 2010) with greedy k-means++ starts.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/base/random.h"
#include "htfm/stat/points.h"

namespace htfm {

/// The defaults are those of scikit-learn's MiniBatchKMeans(n_init=10). With heavy tails the stopping rule and the
/// renewal of small clusters shape the histogram, and so the score f1_prd: both rules are therefore the same here.
struct KMeansOptions {
  int64_t clusters = 100;
  int64_t starts = 10;    // k-means++ starts, each on a random subset of 3 batches; the best on one more subset is kept
  int64_t batch = 1024;   // drawn with replacement
  int64_t epochs = 100;   // at most this many batches, counted in passes over the points
  int64_t patience = 10;  // stop after so many batches without a better running mean of the inertia
  double renew_below = 0.01;  // clusters lighter than this share of the heaviest move to random points of the batch
};

struct KMeansResult {
  std::vector<double> centers;  // clusters x dim
  std::vector<int32_t> labels;  // of all points
  double inertia = 0;           // sum of squared distances to the nearest centre
  int64_t steps = 0;            // batches looked at
};

/// Clusters the points; the same key gives the same clusters.
KMeansResult mini_batch_kmeans(const Points& points, const KMeansOptions& options, Key key);

}  // namespace htfm
