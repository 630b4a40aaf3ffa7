#include "htfm/metric/image_scores.h"

#include <cmath>

namespace htfm {

ImageScores image_scores(const FeatureReference& reference, const at::Tensor& fake, const at::Tensor& labels,
                         int64_t classes, int k) {
  ImageScores out;
  out.real = reference.features.size(0), out.fake = fake.size(0), out.k = k;
  MomentCollector moments;
  for (const at::Tensor& part : fake.split(500)) moments.add(part, "fake");
  out.distance = frechet_distance(reference.moments, moments.moments());
  out.neighbours = feature_neighbours(reference.features.to(fake.device()), fake, k);
  if (!labels.defined()) return out;
  out.classes = class_coverage(out.neighbours, labels, classes);
  for (const ClassCoverage& c : out.classes)
    out.class_distance += 0.5 * std::abs(static_cast<double>(c.real) / static_cast<double>(out.real) -
                                         static_cast<double>(c.fake) / static_cast<double>(out.fake));
  return out;
}

}  // namespace htfm
