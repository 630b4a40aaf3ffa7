#include "htfm/metric/precision_recall.h"

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/kd_tree.h"

namespace htfm {
namespace {

constexpr int64_t kGrain = 64;  // blocks of one task

/// Squared radii of the balls, blocks x kBlock, -1 behind the last point: nothing lies in such a ball.
std::vector<double> squared_radii(const BlockedPoints& set, int k) {
  const BlockView view = set.view();
  const BallKernels& kernel = kernels<BallKernels>();
  std::vector<double> radius2(static_cast<size_t>(view.blocks * kBlock));
  parallel_ranges(view.blocks, kGrain, [&](int64_t begin, int64_t end) {
    std::vector<double> scratch(static_cast<size_t>(4 * kBlock * (k + 1)));
    (set.has_tree() ? kernel.nearest : kernel.nearest_brute)(view, begin, end, k + 1, scratch.data(), radius2.data());
  });
  std::fill(radius2.begin() + view.n, radius2.end(), -1.0);
  return radius2;
}

double covered_share(const BlockedPoints& set, const std::vector<double>& radius2, const BlockedPoints& query) {
  const BlockView view = set.view(), query_view = query.view();
  const BallKernels& kernel = kernels<BallKernels>();
  const std::vector<double> reach2 = set.largest_below(radius2);
  std::vector<int64_t> counts(static_cast<size_t>((query_view.blocks + kGrain - 1) / kGrain));
  parallel_ranges(query_view.blocks, kGrain, [&](int64_t begin, int64_t end) {
    const auto count = set.has_tree() ? kernel.covered : kernel.covered_brute;
    counts[static_cast<size_t>(begin / kGrain)] = count(view, {radius2.data(), reach2.data()}, query_view, begin, end);
  });
  int64_t total = 0;
  for (const int64_t count : counts) total += count;
  return static_cast<double>(total) / static_cast<double>(query_view.n);
}

}  // namespace

double harmonic_mean(double precision, double recall) {
  return precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0.0;
}

KnnScore f1_knn(const Points& real, const Points& fake, int k) {
  check_same_dimension(real, fake, "f1_knn");
  if (k < 1) throw InputError("[f1_knn] expected k of at least 1, got {}", k);
  if (real.n <= k || fake.n <= k)
    throw InputError("[f1_knn] expected more than k = {} points in each set, got {} (real) and {} (fake)", k, real.n,
                     fake.n);
  const Points* points[2] = {&real, &fake};
  std::unique_ptr<BlockedPoints> set[2];
  parallel_for(2, [&](int64_t i) { set[i] = std::make_unique<BlockedPoints>(*points[i], real.dim <= kMaxTreeDim); });
  KnnScore score;
  score.precision = covered_share(*set[0], squared_radii(*set[0], k), *set[1]);
  score.recall = covered_share(*set[1], squared_radii(*set[1], k), *set[0]);
  score.f1 = harmonic_mean(score.precision, score.recall);
  return score;
}

KnnScore f1_knn(const at::Tensor& real, const at::Tensor& fake, int k) {
  return f1_knn(to_points(real, "f1_knn: real"), to_points(fake, "f1_knn: fake"), k);
}

}  // namespace htfm
