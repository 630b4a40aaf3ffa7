#include "htfm/metric/kmeans.h"

#include <limits>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/metric/blocks.h"
#include "htfm/metric/kmeans_kernels.h"

namespace htfm {
namespace {

/// Points drawn from the set, in blocks, with their nearest centres.
struct Sample {
  std::vector<int64_t> rows;
  std::vector<double> blocks;
  std::vector<int32_t> labels;
  std::vector<double> distance2;

  void draw(const Points& points, int64_t n, Key key) {
    rows.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
      rows[static_cast<size_t>(i)] =
          static_cast<int64_t>(key.below(static_cast<uint64_t>(points.n), static_cast<uint64_t>(i)));
    blocks.resize(blocked_size(n, points.dim));
    fill_blocks(points.x.data(), points.dim, rows.data(), n, blocks.data());
  }
  /// Finds the nearest centres and returns the inertia.
  double assign(const std::vector<double>& centers, int64_t dim) {
    labels.resize(rows.size());
    distance2.resize(rows.size());
    const int64_t count = static_cast<int64_t>(centers.size()) / dim;
    std::vector<double> blocked(blocked_size(count, dim));
    fill_blocks(centers.data(), dim, nullptr, count, blocked.data());
    kernels<KMeansKernels>().assign(blocks.data(), static_cast<int64_t>(rows.size()), dim, blocked.data(), count,
                                    labels.data(), distance2.data());
    return std::accumulate(distance2.begin(), distance2.end(), 0.0);
  }
};

/// The first point at which the running sum of `closest` passes `target`. Whole chunks are skipped by their sums.
int64_t find_in_sums(const std::vector<double>& closest, const std::vector<double>& chunk_sums, int64_t n,
                     double target) {
  size_t chunk = 0;
  while (chunk + 1 < chunk_sums.size() && target > chunk_sums[chunk]) target -= chunk_sums[chunk++];
  int64_t i = static_cast<int64_t>(chunk) * kChunk;
  while (i + 1 < n && target > closest[static_cast<size_t>(i)]) target -= closest[static_cast<size_t>(i++)];
  return i;
}

/// Greedy k-means++: each new centre is the best of a few points drawn with probability proportional to their squared
/// distance.
std::vector<double> plus_plus(const Points& points, const Sample& sample, int64_t clusters, Key key) {
  const KMeansKernels& kernel = kernels<KMeansKernels>();
  const int64_t n = static_cast<int64_t>(sample.rows.size()), dim = points.dim;
  const auto trials = static_cast<int64_t>(2 + std::floor(std::log(static_cast<double>(clusters))));
  std::vector<double> closest(static_cast<size_t>(block_count(n) * kBlock), 0.0);  // lanes behind the last point stay 0
  std::fill_n(closest.begin(), n, std::numeric_limits<double>::max());
  std::vector<double> chunk_sums(static_cast<size_t>((n + kChunk - 1) / kChunk));
  std::vector<double> tried(blocked_size(trials, dim)), potential(static_cast<size_t>(block_count(trials) * kBlock));
  std::vector<int64_t> rows(static_cast<size_t>(trials));
  std::vector<double> centers;

  const auto add = [&](int64_t row, const double* lane) {
    centers.insert(centers.end(), points.row(row), points.row(row) + dim);
    kernel.shrink(sample.blocks.data(), n, dim, lane, closest.data(), chunk_sums.data());
  };
  const auto at = static_cast<int64_t>(key.below(static_cast<uint64_t>(n), 0));
  add(sample.rows[static_cast<size_t>(at)], sample.blocks.data() + at / kBlock * dim * kBlock + at % kBlock);
  for (uint64_t center = 1; center < static_cast<uint64_t>(clusters); ++center) {
    const double total = std::accumulate(chunk_sums.begin(), chunk_sums.end(), 0.0);
    for (int64_t t = 0; t < trials; ++t) {
      const double target = total * key.uniform(center * static_cast<uint64_t>(trials) + static_cast<uint64_t>(t));
      rows[static_cast<size_t>(t)] = sample.rows[static_cast<size_t>(find_in_sums(closest, chunk_sums, n, target))];
    }
    fill_blocks(points.x.data(), dim, rows.data(), trials, tried.data());
    const auto lane = [&](int64_t t) { return tried.data() + t / kBlock * dim * kBlock + t % kBlock; };
    for (int64_t t = 0; t < trials; t += kPotentials)
      kernel.potentials(sample.blocks.data(), n, dim, lane(t), closest.data(), potential.data() + t);
    const int64_t best = std::min_element(potential.begin(), potential.begin() + trials) - potential.begin();
    add(rows[static_cast<size_t>(best)], lane(best));
  }
  return centers;
}

/// Moves each centre to the mean of all batch points it has been given so far.
void move_centers(const Points& points, const Sample& batch, std::vector<double>& centers,
                  std::vector<double>& weights) {
  const size_t clusters = weights.size(), dim = static_cast<size_t>(points.dim);
  std::vector<double> sums(centers.size(), 0.0), counts(clusters, 0.0);
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const auto label = static_cast<size_t>(batch.labels[i]);
    const double* row = points.row(batch.rows[i]);
    counts[label] += 1;
    for (size_t d = 0; d < dim; ++d) sums[label * dim + d] += row[d];
  }
  for (size_t c = 0; c < clusters; ++c) {
    if (counts[c] == 0) continue;
    const double weight = weights[c] + counts[c];
    for (size_t d = 0; d < dim; ++d)
      centers[c * dim + d] = (centers[c * dim + d] * weights[c] + sums[c * dim + d]) / weight;
    weights[c] = weight;
  }
}

/// Moves the lightest clusters to random points of the batch, at most half as many as the batch has points.
void renew_light_clusters(const Points& points, const Sample& batch, double renew_below, Key key,
                          std::vector<double>& centers, std::vector<double>& weights) {
  const double heaviest = *std::max_element(weights.begin(), weights.end());
  std::vector<size_t> light;
  double lightest_kept = std::numeric_limits<double>::infinity();
  for (size_t c = 0; c < weights.size(); ++c)
    if (weights[c] < renew_below * heaviest) light.push_back(c);
  std::stable_sort(light.begin(), light.end(), [&](size_t a, size_t b) { return weights[a] < weights[b]; });
  light.resize(std::min(light.size(), batch.rows.size() / 2));
  std::vector<char> renewed(weights.size(), 0);
  for (const size_t c : light) renewed[c] = 1;
  for (size_t c = 0; c < weights.size(); ++c)
    if (!renewed[c]) lightest_kept = std::min(lightest_kept, weights[c]);

  std::vector<int64_t> rows = batch.rows;  // the first steps of a shuffle draw without replacement
  for (size_t i = 0; i < light.size(); ++i) {
    std::swap(rows[i], rows[i + key.below(rows.size() - i, i)]);
    std::copy_n(points.row(rows[i]), points.dim, centers.data() + static_cast<int64_t>(light[i]) * points.dim);
    weights[light[i]] = lightest_kept;
  }
}

/// Stops when the exponentially weighted mean of the batch inertia has not improved for a while.
class Stopping {
 public:
  Stopping(double rate, int64_t patience) : rate_(rate), patience_(patience) {}
  bool done(double inertia) {
    if (first_) return first_ = false;  // the inertia of the start
    mean_ = std::isnan(mean_) ? inertia : mean_ * (1 - rate_) + inertia * rate_;
    if (mean_ < best_) {
      best_ = mean_;
      without_gain_ = 0;
    } else {
      ++without_gain_;
    }
    return without_gain_ >= patience_;
  }

 private:
  double rate_;
  int64_t patience_, without_gain_ = 0;
  bool first_ = true;
  double mean_ = std::numeric_limits<double>::quiet_NaN(), best_ = std::numeric_limits<double>::infinity();
};

std::vector<double> best_start(const Points& points, const KMeansOptions& options, int64_t size, Key key) {
  Sample validation, sample;
  validation.draw(points, size, key.child("validation"));
  std::vector<double> best;
  double best_inertia = std::numeric_limits<double>::infinity();
  for (int64_t start = 0; start < options.starts; ++start) {
    const Key own = key.child(static_cast<uint64_t>(start));
    sample.draw(points, size, own.child("subset"));
    std::vector<double> centers = plus_plus(points, sample, options.clusters, own.child("centers"));
    const double inertia = validation.assign(centers, points.dim);
    if (best.empty() || inertia < best_inertia) {
      best_inertia = inertia;
      best = std::move(centers);
    }
  }
  return best;
}

}  // namespace

KMeansResult mini_batch_kmeans(const Points& points, const KMeansOptions& options, Key key) {
  const int64_t clusters = options.clusters;
  if (clusters < 1 || options.starts < 1 || options.batch < 1)
    throw InputError("[k-means] expected at least one cluster, start and batch point, got {}, {}, {}", clusters,
                     options.starts, options.batch);
  if (points.n < clusters)
    throw InputError("[k-means] expected at least {} points, one a cluster, got {}", clusters, points.n);
  const int64_t batch_size = std::min(options.batch, points.n);
  const int64_t start_size = std::min(3 * std::max(batch_size, 3 * batch_size < clusters ? clusters : 0), points.n);

  KMeansResult result;
  result.centers = best_start(points, options, start_size, key.child("start"));
  std::vector<double> weights(static_cast<size_t>(clusters), 0.0);
  Stopping stopping(std::min(1.0, 2.0 * static_cast<double>(batch_size) / static_cast<double>(points.n + 1)),
                    options.patience);
  Sample batch;
  int64_t seen = 0;  // points since the light clusters were last renewed
  for (const int64_t most = options.epochs * points.n / batch_size; result.steps < most;) {
    const Key step = key.child("step").child(static_cast<uint64_t>(result.steps));
    batch.draw(points, batch_size, step.child("batch"));
    const double inertia = batch.assign(result.centers, points.dim);
    const bool unused = std::count(weights.begin(), weights.end(), 0.0) > 0;
    move_centers(points, batch, result.centers, weights);
    seen += batch_size;
    if (options.renew_below > 0 && (unused || seen >= 10 * clusters)) {
      seen = 0;
      renew_light_clusters(points, batch, options.renew_below, step.child("renew"), result.centers, weights);
    }
    ++result.steps;
    if (stopping.done(inertia / static_cast<double>(batch_size))) break;
  }

  Sample all;
  all.rows.resize(static_cast<size_t>(points.n));
  std::iota(all.rows.begin(), all.rows.end(), int64_t{0});
  all.blocks.resize(blocked_size(points.n, points.dim));
  fill_blocks(points.x.data(), points.dim, nullptr, points.n, all.blocks.data());
  result.inertia = all.assign(result.centers, points.dim);
  result.labels = std::move(all.labels);
  return result;
}

}  // namespace htfm
