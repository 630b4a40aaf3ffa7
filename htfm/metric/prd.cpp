#include "htfm/metric/prd.h"

#include <numbers>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/kmeans.h"
#include "htfm/metric/precision_recall.h"

namespace htfm {
namespace {

/// Adds weight times the curve of two histograms: precision sum min(lambda p_real, p_fake), recall precision / lambda.
void add_curve(const std::vector<double>& real, const std::vector<double>& fake, double weight, PrdScore& score) {
  const size_t angles = score.curve_precision.size();
  constexpr double kMargin = 1e-10;
  for (size_t a = 0; a < angles; ++a) {
    const double share = static_cast<double>(a) / static_cast<double>(angles - 1);
    const double slope = std::tan(kMargin + share * (std::numbers::pi / 2 - 2 * kMargin));
    double precision = 0;
    for (size_t c = 0; c < real.size(); ++c) precision += std::min(slope * real[c], fake[c]);
    score.curve_precision[a] += weight * std::min(precision, 1.0);
    score.curve_recall[a] += weight * std::min(precision / slope, 1.0);
  }
}

double largest_f(const PrdScore& score, double beta) {
  double largest = 0;
  for (size_t a = 0; a < score.curve_precision.size(); ++a) {
    const double p = score.curve_precision[a], r = score.curve_recall[a], below = beta * beta * p + r;
    if (below > 0) largest = std::max(largest, (1 + beta * beta) * p * r / below);
  }
  return largest;
}

PrdScore empty_score(int64_t angles) {
  if (angles < 2) throw InputError("[f1_prd] expected at least 2 angles, got {}", angles);
  PrdScore score;
  score.curve_precision.assign(static_cast<size_t>(angles), 0.0);
  score.curve_recall.assign(static_cast<size_t>(angles), 0.0);
  return score;
}

void finish(PrdScore& score) {
  score.precision = largest_f(score, 8.0);
  score.recall = largest_f(score, 1.0 / 8.0);
  score.f1 = harmonic_mean(score.precision, score.recall);
}

}  // namespace

PrdScore prd_of_histograms(const std::vector<double>& real, const std::vector<double>& fake, int64_t angles) {
  if (real.size() != fake.size())
    throw InputError("[f1_prd] expected histograms of one size, got {} and {}", real.size(), fake.size());
  PrdScore score = empty_score(angles);
  score.clusters = static_cast<int64_t>(real.size());
  add_curve(real, fake, 1.0, score);
  finish(score);
  return score;
}

PrdScore f1_prd(const Points& real, const Points& fake, const PrdOptions& options) {
  check_same_dimension(real, fake, "f1_prd");
  if (options.clusterings < 1)
    throw InputError("[f1_prd] expected at least one clustering, got {}", options.clusterings);
  if (options.clusters < 0)
    throw InputError("[f1_prd] expected at least one cluster, or 0 for the default, got {}", options.clusters);
  PrdScore score = empty_score(options.angles);
  const int64_t n = score.points = std::min(real.n, fake.n);
  score.clusters = options.clusters > 0 ? options.clusters : n <= 2500 ? 20 : 100;
  Points pooled = first_points(real, n);
  pooled.x.insert(pooled.x.end(), fake.x.begin(), fake.x.begin() + n * fake.dim);
  pooled.n = 2 * n;

  KMeansOptions kmeans;
  kmeans.clusters = score.clusters;
  const Key key = Key(options.seed).child("f1_prd");
  const auto runs = static_cast<size_t>(options.clusterings);
  std::vector<std::vector<double>> histograms(2 * runs, std::vector<double>(static_cast<size_t>(score.clusters), 0.0));
  parallel_for(options.clusterings, [&](int64_t run) {
    const KMeansResult result = mini_batch_kmeans(pooled, kmeans, key.child(static_cast<uint64_t>(run)));
    for (int64_t i = 0; i < 2 * n; ++i)
      histograms[static_cast<size_t>(2 * run + (i >= n))][static_cast<size_t>(result.labels[static_cast<size_t>(i)])] +=
          1 / static_cast<double>(n);
  });
  for (size_t run = 0; run < runs; ++run)
    add_curve(histograms[2 * run], histograms[2 * run + 1], 1 / static_cast<double>(runs), score);
  finish(score);
  return score;
}

PrdScore f1_prd(const at::Tensor& real, const at::Tensor& fake, const PrdOptions& options) {
  return f1_prd(to_points(real, "f1_prd: real"), to_points(fake, "f1_prd: fake"), options);
}

}  // namespace htfm
