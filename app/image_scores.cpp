#include "app/image_scores.h"

#include "htfm/base/error.h"
#include "htfm/metric/feature_knn.h"

namespace htfm::app {

namespace {

at::Tensor bytes_of(const at::Tensor& rows, const ImageShape& shape) {
  return to_bytes(rows.to(at::kFloat).view({rows.size(0), shape.channels, shape.height, shape.width})).pixels;
}

FeatureMoments moments_of(const at::Tensor& features) {
  MomentCollector collector;
  for (int64_t first = 0; first < features.size(0); first += 1000)
    collector.add(features.narrow(0, first, std::min<int64_t>(1000, features.size(0) - first)));
  return collector.moments();
}

}  // namespace

ImageReference::ImageReference(const Dataset& data, const std::string& features, at::Device device, const std::string& inception)
    : network_(features, device), data_(data), name_(network_.distance_name(inception)) {
  if (!data.image) throw InputError("[data] {}: expected images, got a table", data.origin);
  features_ = network_(bytes_of(data.rows, *data.image));
  moments_ = moments_of(features_);
}

Json ImageReference::score(const at::Tensor& samples) const {
  const at::Tensor fake = network_(bytes_of(samples, *data_.image));
  const FrechetDistance d = frechet_distance(moments_, moments_of(fake));
  const FeatureNeighbours neighbours = feature_neighbours(features_, fake);
  Json j{{name_, d.value},
         {"fd", d.value},
         {"fd_mean", d.mean},
         {"precision", neighbours.score.precision},
         {"recall", neighbours.score.recall},
         {"n_fake", samples.size(0)},
         {"n_real", data_.rows.size(0)},
         {"reference", data_.origin},
         {"features", network_.name()},
         {"features_sha256", network_.hash()}};
  if (data_.labels.defined()) {
    std::vector<int64_t> real, counts;
    std::vector<double> recall;
    for (const ClassCoverage& c : class_coverage(neighbours, data_.labels, static_cast<int64_t>(data_.classes.size())))
      real.push_back(c.real), counts.push_back(c.fake), recall.push_back(c.recall);
    j["class_real"] = real, j["class_fake"] = counts, j["class_recall"] = recall;
  }
  return j;
}

}  // namespace htfm::app
