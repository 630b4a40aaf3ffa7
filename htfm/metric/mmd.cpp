#include "htfm/metric/mmd.h"

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/random.h"
#include "htfm/metric/blocks.h"
#include "htfm/metric/mmd_kernels.h"

namespace htfm {
namespace {

constexpr int64_t kMedianPoints = 512;  // of each set, whose pairwise distances give the median

Points subsample(const Points& points, int64_t most, Key key) {
  if (points.n <= most) return points;
  std::vector<int64_t> order(static_cast<size_t>(points.n));
  fill_permutation(key, points.n, order.data());
  Points part{most, points.dim, std::vector<double>(static_cast<size_t>(most * points.dim))};
  for (int64_t i = 0; i < most; ++i)
    std::copy_n(points.row(order[static_cast<size_t>(i)]), part.dim, part.x.data() + i * part.dim);
  return part;
}

/// Median distance between points of both sets; where more than half of them coincide, the mean.
double median_distance(const Points& real, const Points& fake) {
  Points pooled = first_points(real, kMedianPoints);
  const Points other = first_points(fake, kMedianPoints);
  pooled.x.insert(pooled.x.end(), other.x.begin(), other.x.end());
  pooled.n += other.n;
  std::vector<double> distances;
  distances.reserve(static_cast<size_t>(pooled.n * (pooled.n - 1) / 2));
  double sum = 0;
  for (int64_t i = 0; i < pooled.n; ++i)
    for (int64_t j = 0; j < i; ++j) {
      double squares = 0;
      for (int64_t d = 0; d < pooled.dim; ++d)
        squares += (pooled.row(i)[d] - pooled.row(j)[d]) * (pooled.row(i)[d] - pooled.row(j)[d]);
      distances.push_back(std::sqrt(squares));
      sum += distances.back();
    }
  const auto middle = distances.begin() + static_cast<int64_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle > 0 ? *middle : sum / static_cast<double>(distances.size());
}

struct KernelSum {
  double rate;
  int scales;

  /// Mean kernel over all pairs of two sets; within one set, over pairs of different points.
  double mean(const std::vector<double>& x, int64_t n, const std::vector<double>& y, int64_t m, int64_t dim,
              bool same) const {
    const auto sum = kernels<MmdKernels>().sum;
    std::vector<double> parts(static_cast<size_t>(block_count(n)));
    parallel_for(block_count(n), [&](int64_t block) {
      const double* rows = x.data() + block * dim * kBlock;
      parts[static_cast<size_t>(block)] =
          same ? sum(rows, y.data(), block, block + 1, dim, rate, scales) +
                     2 * sum(rows, y.data(), block + 1, block_count(m), dim, rate, scales)
               : sum(rows, y.data(), 0, block_count(m), dim, rate, scales);
    });
    double total = 0;
    for (const double part : parts) total += part;
    const auto rows = static_cast<double>(n), columns = static_cast<double>(m);
    return same ? (total - rows * scales) / (rows * (rows - 1)) : total / (rows * columns);
  }
};

}  // namespace

MmdScore mmd(const Points& real, const Points& fake, const MmdOptions& options) {
  check_same_dimension(real, fake, "mmd");
  if (options.points < 2) throw InputError("[mmd] expected at least 2 points of each set, got {}", options.points);
  if (real.n < 2 || fake.n < 2)
    throw InputError("[mmd] expected at least 2 points in each set, got {} (real) and {} (fake)", real.n, fake.n);
  if (options.octaves < 0 || options.octaves > 8)
    throw InputError("[mmd] expected 0 to 8 octaves, got {}", options.octaves);
  if (!(options.bandwidth >= 0))
    throw InputError("[mmd] expected a positive bandwidth, or 0 for the median, got {}", options.bandwidth);
  const Key key = Key(options.seed).child("mmd");
  const Points x = subsample(real, options.points, key.child("real")),
               y = subsample(fake, options.points, key.child("fake"));

  MmdScore score;
  score.real_points = x.n;
  score.fake_points = y.n;
  score.bandwidth = options.bandwidth > 0 ? options.bandwidth : median_distance(x, y);
  if (score.bandwidth == 0) return score;  // all points coincide
  const double widest = score.bandwidth * std::exp2(options.octaves);
  const KernelSum kernel{0.5 / (widest * widest), 2 * options.octaves + 1};
  std::vector<double> xb(blocked_size(x.n, x.dim)), yb(blocked_size(y.n, y.dim));
  fill_blocks(x.x.data(), x.dim, nullptr, x.n, xb.data());
  fill_blocks(y.x.data(), y.dim, nullptr, y.n, yb.data());
  score.value = kernel.mean(xb, x.n, xb, x.n, x.dim, true) + kernel.mean(yb, y.n, yb, y.n, y.dim, true) -
                2 * kernel.mean(xb, x.n, yb, y.n, x.dim, false);
  return score;
}

MmdScore mmd(const at::Tensor& real, const at::Tensor& fake, const MmdOptions& options) {
  return mmd(to_points(real, "mmd: real"), to_points(fake, "mmd: fake"), options);
}

}  // namespace htfm
