#include "htfm/metric/class_scores.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>

#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/metric/feature_knn.h"

namespace htfm {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The rows of each class.
std::vector<at::Tensor> rows_of_classes(const at::Tensor& features, const at::Tensor& labels, int64_t classes) {
  if (features.size(0) != labels.size(0))
    throw InputError("[class] expected the class of each of {} images, got {}", features.size(0), labels.size(0));
  std::vector<at::Tensor> out;
  for (int64_t c = 0; c < classes; ++c)
    out.push_back(features.index_select(0, labels.eq(c).nonzero().view({-1}).to(features.device())));
  return out;
}

// Squared distances of features to the means of the classes, n x classes; infinite for a class without images.
at::Tensor distances_to_means(const at::Tensor& features, const std::vector<at::Tensor>& classes) {
  const at::Tensor x = features.to(at::kDouble);
  at::Tensor out =
      at::full({x.size(0), static_cast<int64_t>(classes.size())}, std::numeric_limits<double>::infinity(), x.options());
  for (size_t c = 0; c < classes.size(); ++c)
    if (classes[c].size(0) > 0)
      out.select(1, static_cast<int64_t>(c)).copy_((x - classes[c].to(at::kDouble).mean(0)).square().sum(1));
  return out;
}

FeatureMoments moments_of(const at::Tensor& features) {
  MomentCollector collector;
  collector.add(features, "class");
  return collector.moments();
}

double mean_of(const std::vector<ClassScore>& classes, double ClassScore::*figure) {
  double sum = 0;
  int64_t count = 0;
  for (const ClassScore& c : classes)
    if (std::isfinite(c.*figure)) sum += c.*figure, ++count;
  return count > 0 ? sum / static_cast<double>(count) : kNone;
}

}  // namespace

ClassScores class_scores(const at::Tensor& real, const at::Tensor& labels, const at::Tensor& fake,
                         const at::Tensor& asked, int64_t classes) {
  const at::Tensor own_real = real.to(fake.device());
  const std::vector<at::Tensor> real_rows = rows_of_classes(own_real, labels, classes),
                                fake_rows = rows_of_classes(fake, asked, classes);
  const at::Tensor by_mean = distances_to_means(fake, real_rows).argmin(1).cpu().eq(asked),
                   by_image = labels.index_select(0, nearest_features(own_real, fake).index).eq(asked);
  ClassScores out;
  for (int64_t c = 0; c < classes; ++c) {
    ClassScore own{real_rows[c].size(0), fake_rows[c].size(0), kNone, kNone, kNone};
    if (own.real > 1 && own.fake > 1)
      own.distance = frechet_distance(moments_of(real_rows[c]), moments_of(fake_rows[c])).value;
    if (own.fake > 0) {
      const at::Tensor places = asked.eq(c).nonzero().view({-1});
      own.accuracy = by_mean.index_select(0, places).to(at::kDouble).mean().item<double>();
      own.nearest = by_image.index_select(0, places).to(at::kDouble).mean().item<double>();
    }
    out.classes.push_back(own);
  }
  out.distance = mean_of(out.classes, &ClassScore::distance);
  out.accuracy = mean_of(out.classes, &ClassScore::accuracy);
  out.nearest = mean_of(out.classes, &ClassScore::nearest);
  return out;
}

std::vector<double> real_class_accuracy(const at::Tensor& real, const at::Tensor& labels, int64_t classes) {
  const std::vector<at::Tensor> rows = rows_of_classes(real, labels, classes);
  std::vector<double> out;
  for (int64_t c = 0; c < classes; ++c) {
    const auto n = static_cast<double>(rows[c].size(0));
    if (n < 2) {
      out.push_back(kNone);
      continue;
    }
    at::Tensor distance = distances_to_means(rows[c], rows);
    // Without x the mean m of n moves to (n m - x) / (n - 1), and its distance from x grows by n / (n - 1).
    distance.select(1, c).mul_(n / (n - 1) * n / (n - 1));
    out.push_back(distance.argmin(1).eq(c).to(at::kDouble).mean().item<double>());
  }
  return out;
}

}  // namespace htfm
