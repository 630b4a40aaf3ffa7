#include "htfm/metric/wasserstein.h"

#include <utility>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/random.h"
#include "htfm/metric/blocks.h"
#include "htfm/stat/sort.h"

namespace htfm {
namespace {

std::vector<double> to_blocks(const Points& points) {
  std::vector<double> blocks(blocked_size(points.n, points.dim));
  fill_blocks(points.x.data(), points.dim, nullptr, points.n, blocks.data());
  return blocks;
}

/// Projections of n blocked points on one direction.
void project(const std::vector<double>& blocks, int64_t n, const std::vector<double>& direction,
             std::vector<double>& out) {
  out.resize(static_cast<size_t>(n));
  const double* x = blocks.data();
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    double sum[kBlock] = {};
    for (const double component : direction) {
      for (int i = 0; i < kBlock; ++i) sum[i] += component * x[i];
      x += kBlock;
    }
    std::copy_n(sum, std::min<int64_t>(kBlock, n - begin), out.begin() + begin);
  }
}

std::vector<double> random_direction(int64_t dim, Key key) {
  std::vector<double> direction(static_cast<size_t>(dim));
  fill_normal(key, 0, dim, direction.data());
  double norm2 = 0;
  for (const double component : direction) norm2 += component * component;
  for (double& component : direction) component /= std::sqrt(norm2);
  return direction;
}

}  // namespace

double w1_sorted(std::span<const double> a, std::span<const double> b) {
  const size_t n = a.size(), m = b.size();
  if (n == 0 || m == 0) throw InputError("[w1] expected two samples, got {} and {} values", n, m);
  double total = 0, part = 0;  // partial sums keep the rounding error small on long samples
  constexpr size_t kPart = 4096;
  if (n == m) {
    for (size_t begin = 0; begin < n; begin += kPart, total += std::exchange(part, 0.0))
      for (size_t i = begin; i < std::min(n, begin + kPart); ++i) part += std::abs(a[i] - b[i]);
    return total / static_cast<double>(n);
  }
  // Between neighbouring multiples of 1/n and 1/m both quantile functions are constant; levels are counted in units of
  // 1/(nm).
  size_t i = 0, j = 0, level = 0;
  for (size_t step = 0; i < n && j < m; ++step) {
    const size_t end_a = (i + 1) * m, end_b = (j + 1) * n, next = std::min(end_a, end_b);
    part += std::abs(a[i] - b[j]) * static_cast<double>(next - level);
    level = next;
    i += end_a == next;
    j += end_b == next;
    if (step % kPart == 0) total += std::exchange(part, 0.0);
  }
  return (total + part) / static_cast<double>(n) / static_cast<double>(m);
}

double w1_pooled(const Points& real, const Points& fake) {
  std::vector<double> values[2] = {real.x, fake.x};
  parallel_for(2, [&](int64_t i) { sort_values(values[i]); });
  return w1_sorted(values[0], values[1]);
}

SlicedScore w1_sliced(const Points& real, const Points& fake, const SlicedOptions& options) {
  check_same_dimension(real, fake, "w1_sliced");
  if (options.directions < 1)
    throw InputError("[w1_sliced] expected at least one direction, got {}", options.directions);
  const Key key = Key(options.seed).child("w1_sliced");
  const std::vector<double> real_blocks = to_blocks(real), fake_blocks = to_blocks(fake);
  std::vector<double> distances(static_cast<size_t>(options.directions));
  parallel_for(options.directions, [&](int64_t i) {
    const std::vector<double> direction = random_direction(real.dim, key.child(static_cast<uint64_t>(i)));
    std::vector<double> a, b, scratch;
    project(real_blocks, real.n, direction, a);
    project(fake_blocks, fake.n, direction, b);
    sort_values(a, scratch);
    sort_values(b, scratch);
    distances[static_cast<size_t>(i)] = w1_sorted(a, b);
  });
  SlicedScore score;
  const auto count = static_cast<double>(options.directions);
  for (const double distance : distances) score.value += distance / count;
  double squares = 0;
  for (const double distance : distances) squares += (distance - score.value) * (distance - score.value);
  score.standard_error = count > 1 ? std::sqrt(squares / (count - 1) / count) : 0.0;
  return score;
}

double w1_pooled(const at::Tensor& real, const at::Tensor& fake) {
  return w1_pooled(to_points(real, "w1_pooled: real"), to_points(fake, "w1_pooled: fake"));
}

SlicedScore w1_sliced(const at::Tensor& real, const at::Tensor& fake, const SlicedOptions& options) {
  return w1_sliced(to_points(real, "w1_sliced: real"), to_points(fake, "w1_sliced: fake"), options);
}

}  // namespace htfm
