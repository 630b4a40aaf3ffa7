#include "htfm/rare/splitting.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/parallel.h"

namespace htfm {

namespace {

constexpr double kAccepted = 0.35, kFirstStep = 0.7, kLeastStep = 0.03;

Population first_population(LatentSampler& sampler, const RowLevel& level, Key key, int64_t n) {
  Population out;
  out.latents = normal_latents(key, 0, n, sampler.shape().size());
  out.rows = sampler(out.latents);
  out.level = levels_of(out.rows, level);
  return out;
}

std::vector<int64_t> beyond(const Population& p, double threshold) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < p.level.size(); ++i)
    if (p.level[i] >= threshold) out.push_back(static_cast<int64_t>(i));
  return out;
}

Population chosen(const Population& p, const std::vector<int64_t>& index) {
  at::Tensor at = at::empty({static_cast<int64_t>(index.size())}, at::kLong);
  std::copy(index.begin(), index.end(), at.mutable_data_ptr<int64_t>());
  Population out{p.latents.index_select(0, at), {}, p.rows.index_select(0, at)};
  for (const int64_t i : index) out.level.push_back(p.level[static_cast<size_t>(i)]);
  return out;
}

// n of those beyond a threshold, each as often as the others but for one.
Population resampled(const Population& p, const std::vector<int64_t>& survivors, int64_t n, Key key) {
  const auto m = static_cast<int64_t>(survivors.size());
  std::vector<int64_t> order(survivors.size()), index;
  fill_permutation(key, m, order.data());
  for (int64_t i = 0; i < n; ++i) index.push_back(survivors[static_cast<size_t>(order[static_cast<size_t>(i % m)])]);
  return chosen(p, index);
}

// One move of every particle: x' = sqrt(1 - s^2) x + s xi leaves the normal law as it is, and is taken where it stays
// beyond the threshold. Returns the share that was taken. A clock that changes wholly with its score stays in every
// other move.
double move_all(LatentSampler& sampler, const RowLevel& level, Population& p, double threshold, double step, bool clock,
                Key key) {
  const int64_t n = p.latents.size(0), size = p.latents.size(1), fixed = clock ? 0 : sampler.shape().clock;
  at::Tensor proposed = normal_latents(key, 0, n, size);
  const double* x = p.latents.const_data_ptr<double>();
  double* y = proposed.mutable_data_ptr<double>();
  const double kept = std::sqrt(1 - step * step);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < size; ++k)
      y[i * size + k] = k < fixed ? x[i * size + k] : kept * x[i * size + k] + step * y[i * size + k];
  const at::Tensor rows = sampler(proposed);
  const std::vector<double> next = levels_of(rows, level);
  const int64_t columns = rows.size(1);
  double* to = p.latents.mutable_data_ptr<double>();
  double* row = p.rows.mutable_data_ptr<double>();
  int64_t taken = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!(next[static_cast<size_t>(i)] >= threshold)) continue;
    ++taken;
    std::copy_n(y + i * size, size, to + i * size);
    std::copy_n(rows.const_data_ptr<double>() + i * columns, columns, row + i * columns);
    p.level[static_cast<size_t>(i)] = next[static_cast<size_t>(i)];
  }
  return static_cast<double>(taken) / static_cast<double>(n);
}

bool moves_clock(const LatentShape& shape, size_t sweep) { return shape.levels > 0 || sweep % 2 == 1; }

// The threshold that at least this share lies at or beyond, higher than the lowest level; -infinity where there is
// none.
double next_threshold(const std::vector<double>& level, double share) {
  std::vector<double> sorted = level;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto k = std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())));
  if (sorted[k] > sorted.back()) return sorted[k];
  // Most particles share the lowest level: those above it, if any, go on.
  const auto lowest = std::find(sorted.begin(), sorted.end(), sorted.back());
  return lowest == sorted.begin() ? -kHolds : *(lowest - 1);
}

}  // namespace

Climb climb(LatentSampler& sampler, const RowLevel& level, const SplittingOptions& o) {
  Climb out;
  Population& p = out.last;
  p = first_population(sampler, level, o.key.child("first"), o.particles);
  double step = kFirstStep;
  for (uint64_t rung = 0;; ++rung) {
    const Key key = o.key.child("rung").child(rung);
    const auto n = static_cast<double>(o.particles), there = static_cast<double>(beyond(p, kHolds).size()) / n;
    bool last = there >= o.share;
    double threshold = last ? kHolds : next_threshold(p.level, o.share);
    const double probability = std::exp(out.log_probability);
    if (o.until > 0 && probability * o.share <= o.until) {
      last = true;
      threshold = next_threshold(p.level, std::min(1.0, o.until / probability));
    }
    const std::vector<int64_t> survivors = beyond(p, threshold);
    const double share = static_cast<double>(survivors.size()) / n;
    if (!(threshold > -kHolds) || probability * share < o.least) {
      // Where none of n particles comes nearer, the share of those that would is at most 3 / n, with 95 % confidence.
      out.reached = false, out.bound = threshold > -kHolds ? o.least : std::max(o.least, probability * 3 / n);
      return out;
    }
    out.log_probability += std::log(share);
    p = resampled(p, survivors, o.particles, key.child("choice"));
    out.rungs.push_back({threshold, {}});
    for (int sweep = 0; sweep < (last ? o.last_sweeps : o.sweeps); ++sweep) {
      out.rungs.back().steps.push_back(step);
      const double taken =
          move_all(sampler, level, p, threshold, step, moves_clock(sampler.shape(), static_cast<size_t>(sweep)),
                   key.child("move").child(static_cast<uint64_t>(sweep)));
      step = std::clamp(step * std::exp(1.5 * (taken - kAccepted)), kLeastStep, 1.0);
    }
    if (last) return out;
  }
}

Climb climb_again(LatentSampler& sampler, const RowLevel& level, const std::vector<Rung>& rungs, Key key,
                  int64_t particles) {
  Climb out;
  out.rungs = rungs;
  Population& p = out.last;
  p = first_population(sampler, level, key.child("first"), particles);
  for (size_t rung = 0; rung < rungs.size(); ++rung) {
    const Key own = key.child("rung").child(rung);
    const std::vector<int64_t> survivors = beyond(p, rungs[rung].threshold);
    if (survivors.empty()) {
      out.reached = false, out.log_probability = -kHolds;
      return out;
    }
    out.log_probability += std::log(static_cast<double>(survivors.size()) / static_cast<double>(particles));
    p = resampled(p, survivors, particles, own.child("choice"));
    for (size_t sweep = 0; sweep < rungs[rung].steps.size(); ++sweep)
      move_all(sampler, level, p, rungs[rung].threshold, rungs[rung].steps[sweep], moves_clock(sampler.shape(), sweep),
               own.child("move").child(sweep));
  }
  return out;
}

}  // namespace htfm
