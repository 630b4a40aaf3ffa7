// Images that were drawn class by class: each class against the real images of it, in feature space.
#pragma once

#include <vector>

#include "htfm/base/api.h"
#include "htfm/metric/frechet.h"

namespace htfm HTFM_PUBLIC {

/// Samples of one class against the real images of it.
struct ClassScore {
  int64_t real = 0, fake = 0;
  double distance = 0;  ///< Frechet distance to the real images of the class; NaN where either has fewer than two
  double accuracy = 0;  ///< share of the samples whose nearest class mean is that of their class; NaN without samples
  double nearest = 0;   ///< share of the samples whose nearest real image is of their class; NaN without samples
};

struct ClassScores {
  std::vector<ClassScore> classes;
  double distance = 0, accuracy = 0, nearest = 0;  ///< means over the classes that have the figure
};

/// Features of real images (n x d) with their labels, and of samples (m x d) with the classes that they were asked for
/// (both 0 .. classes - 1, int64, CPU). With few real images a class's distance is large even for a perfect model: it
/// compares between models, not between classes.
ClassScores class_scores(const at::Tensor& real, const at::Tensor& labels, const at::Tensor& fake,
                         const at::Tensor& asked, int64_t classes);

/// For each class the share of its real images whose nearest class mean, of all images but the one, is that of their
/// class: what the accuracy of perfect samples would be. NaN where a class has fewer than two.
std::vector<double> real_class_accuracy(const at::Tensor& real, const at::Tensor& labels, int64_t classes);

}  // namespace htfm
