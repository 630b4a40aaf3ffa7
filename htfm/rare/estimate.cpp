#include "htfm/rare/estimate.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/rare/search.h"

namespace htfm {

namespace {

constexpr int64_t kClimbs = 10;  // independent ones, where an event is estimated by splitting
constexpr int64_t kFewestParticles = 50, kFewestDraws = 5000, kFewestBeyond = 30;

// 0.975 quantiles: of the normal law, and of Student's with kClimbs - 1 degrees of freedom.
constexpr double kNormal = 1.959963984540054, kStudent = 2.262157162798205;

// Samples with weights: the mean over `count` draws of weight times 1(level beyond t) estimates P(level beyond t).
// Those that lie in groups are independent from group to group alone.
struct Weighted {
  std::vector<double> level, weight;
  std::vector<int64_t> group;  // empty: every sample is one of its own
  int64_t count = 0;

  double width() const { return group.empty() ? kNormal : kStudent; }
};

struct Moments {
  double mean = 0, error = 0;
};

// P(level >= t) with its standard error.
Moments survival(const Weighted& w, double t) {
  if (w.group.empty()) {
    double sum = 0, square = 0;
    for (size_t i = 0; i < w.level.size(); ++i)
      if (w.level[i] >= t) sum += w.weight[i], square += w.weight[i] * w.weight[i];
    const auto n = static_cast<double>(w.count);
    const double mean = sum / n;
    return {mean, std::sqrt(std::max(0.0, square / n - mean * mean) / n)};
  }
  std::vector<double> part(static_cast<size_t>(kClimbs));
  for (size_t i = 0; i < w.level.size(); ++i)
    if (w.level[i] >= t) part[static_cast<size_t>(w.group[i])] += w.weight[i];
  const double scale = static_cast<double>(kClimbs) / static_cast<double>(w.count);
  double mean = 0, square = 0;
  for (double& p : part) mean += (p *= scale) / static_cast<double>(kClimbs);
  for (const double p : part) square += (p - mean) * (p - mean);
  return {mean, std::sqrt(square / static_cast<double>(kClimbs * (kClimbs - 1)))};
}

void set_interval(EventProbability& p, double width) {
  const double relative = p.probability > 0 ? width * p.standard_error / p.probability : 0;
  p.lower = p.probability * std::exp(-relative), p.upper = std::min(1.0, p.probability * std::exp(relative));
  p.effective = p.standard_error > 0 ? std::pow(p.probability / p.standard_error, 2) : 0;
}

EventProbability not_reached(const Search& search, const LatentSampler& sampler) {
  EventProbability out;
  out.reached = false, out.upper = search.climb.bound, out.samples = sampler.spent();
  out.method = name_of(RareMethod::splitting);
  return out;
}

// Draws by the proposal, all of them.
Weighted propose(LatentSampler& sampler, const RowLevel& level, const Search& search, const EstimateOptions& o) {
  const int64_t draws = std::clamp(o.budget - sampler.spent(), std::min(kFewestDraws, o.draws), o.draws);
  const at::Tensor latents = search.proposal.draw(o.key.child("draw"), 0, draws);
  return {levels_of(sampler(latents), level), search.proposal.weights(latents), {}, draws};
}

int64_t climb_cost(const Climb& climb) {
  int64_t cost = 1;
  for (const Rung& rung : climb.rungs) cost += static_cast<int64_t>(rung.steps.size());
  return cost;
}

// Independent climbs by the thresholds of the search.
Weighted climb_repeatedly(LatentSampler& sampler, const RowLevel& level, const Search& search,
                          const EstimateOptions& o) {
  const int64_t left = o.budget - sampler.spent(),
                particles = std::max(kFewestParticles, left / (kClimbs * climb_cost(search.climb)));
  Weighted out;
  out.count = particles * kClimbs;
  for (int64_t k = 0; k < kClimbs; ++k) {
    const Climb again = climb_again(sampler, level, search.climb.rungs,
                                    o.key.child("again").child(static_cast<uint64_t>(k)), particles);
    if (!again.reached) continue;
    out.level.insert(out.level.end(), again.last.level.begin(), again.last.level.end());
    out.weight.insert(out.weight.end(), static_cast<size_t>(particles), std::exp(again.log_probability));
    out.group.insert(out.group.end(), static_cast<size_t>(particles), k);
  }
  return out;
}

Weighted draw_weighted(LatentSampler& sampler, const RowLevel& level, const Search& search, const EstimateOptions& o) {
  return search.method == RareMethod::splitting ? climb_repeatedly(sampler, level, search, o)
                                                : propose(sampler, level, search, o);
}

}  // namespace

EventProbability estimate_event(LatentSampler& sampler, const RowLevel& level, const EstimateOptions& o) {
  const Search search = search_event(sampler, level, 0, o);
  if (!search.climb.reached) return not_reached(search, sampler);
  const Weighted drawn = draw_weighted(sampler, level, search, o);
  const Moments p = survival(drawn, kHolds);
  EventProbability out;
  out.probability = p.mean, out.standard_error = p.error;
  out.samples = sampler.spent(), out.method = name_of(search.method);
  set_interval(out, drawn.width());
  return out;
}

namespace {

struct FoundQuantile {
  RareQuantile quantile;
  Search search;
  int64_t beyond = 0;       // draws whose statistic is larger
  double share_beyond = 0;  // of all draws
};

FoundQuantile find_quantile(LatentSampler& sampler, const RowLevel& statistic, double probability,
                            const EstimateOptions& o) {
  if (!(probability >= 1e-10 && probability <= 0.5))
    throw InputError("[quantile] expected a probability of being exceeded from 1e-10 to 0.5, got {}", probability);
  EstimateOptions own = o;
  own.least = std::min(o.least, probability / 10);
  // The search ends where the number is still exceeded more often: what lies beyond is weighted, and the quantile read
  // from it. A search that went too far is made again, and ends earlier.
  for (double until = 3 * probability;; until *= 4, own.key = own.key.child("earlier")) {
    Search search = search_event(sampler, statistic, std::min(until, 0.9), own);
    if (!search.climb.reached)
      throw InputError(
          "[quantile] expected a statistic that varies beyond its quantile, got one that {} samples in a "
          "search do not exceed",
          own.particles);
    Weighted drawn = draw_weighted(sampler, statistic, search, own);
    std::vector<size_t> order(drawn.level.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return drawn.level[a] > drawn.level[b]; });
    // The largest number that is exceeded, by these weights, with at least this probability.
    const auto exceeded_with = [&](double p) {
      double sum = 0;
      for (const size_t i : order) {
        sum += drawn.weight[i] / static_cast<double>(drawn.count);
        if (sum >= p) return std::max(drawn.level[i], search.method == RareMethod::plain ? -kHolds : search.threshold);
      }
      return -kHolds;
    };
    RareQuantile out;
    out.value = exceeded_with(probability);
    const bool far = search.method == RareMethod::plain || out.value > search.threshold;
    if (!far && until < 1) continue;
    const Moments at = survival(drawn, out.value);
    const double half = drawn.width() * at.error;
    out.lower = exceeded_with(probability + half);
    out.upper = exceeded_with(std::max(probability - half, probability * 1e-3));
    if (!std::isfinite(out.lower)) out.lower = out.value;
    out.samples = sampler.spent(), out.method = name_of(search.method);
    out.effective = at.error > 0 ? std::pow(at.mean / at.error, 2) : 0;
    const int64_t beyond =
        std::count_if(drawn.level.begin(), drawn.level.end(), [&](double v) { return v > out.value; });
    return {out, std::move(search), beyond, static_cast<double>(beyond) / static_cast<double>(drawn.count)};
  }
}

}  // namespace

RareQuantile estimate_quantile(LatentSampler& sampler, const RowLevel& statistic, double probability,
                               const EstimateOptions& o) {
  return find_quantile(sampler, statistic, probability, o).quantile;
}

namespace {

// Draws by the proposal until n belong to the event. With the n-th one at draw m, (n - 1) / (m - 1) is an unbiased
// estimate of the share that does, and independent of what these samples are: so the weights are unbiased although the
// number of draws is not fixed.
RareSamples propose_until(LatentSampler& sampler, const RowLevel& level, const Search& search, int64_t n,
                          const EstimateOptions& o) {
  std::vector<at::Tensor> kept;
  std::vector<double> weights;
  int64_t drawn = 0, last = 0;
  for (const Key key = o.key.child("draw"); static_cast<int64_t>(weights.size()) < n;) {
    const auto missing = static_cast<double>(n - static_cast<int64_t>(weights.size()));
    const auto part =
        std::clamp(static_cast<int64_t>(1.1 * missing / search.accepted) + 64, int64_t{256}, int64_t{1} << 14);
    const at::Tensor latents = search.proposal.draw(key, drawn, part), rows = sampler(latents);
    const std::vector<double> own = levels_of(rows, level), w = search.proposal.weights(latents);
    std::vector<int64_t> index;
    for (int64_t i = 0; i < part && static_cast<int64_t>(weights.size()) < n; ++i) {
      if (!(own[static_cast<size_t>(i)] >= search.threshold)) continue;
      index.push_back(i), weights.push_back(w[static_cast<size_t>(i)]), last = drawn + i + 1;
    }
    at::Tensor at = at::empty({static_cast<int64_t>(index.size())}, at::kLong);
    std::copy(index.begin(), index.end(), at.mutable_data_ptr<int64_t>());
    kept.push_back(rows.index_select(0, at));
    drawn += part;
  }
  RareSamples out;
  out.samples = at::cat(kept);
  out.weights = at::empty({n}, at::kDouble);
  const double share = n > 1 ? static_cast<double>(n - 1) / static_cast<double>(last - 1) : search.accepted;
  double sum = 0, square = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double w = weights[static_cast<size_t>(i)];
    out.weights.mutable_data_ptr<double>()[i] = w * share;
    sum += w, square += w * w;
  }
  const auto m = static_cast<double>(last);
  out.probability.probability = sum * share / static_cast<double>(n);
  out.probability.standard_error = std::sqrt(std::max(0.0, square / m - sum * sum / (m * m)) / m);
  set_interval(out.probability, kNormal);
  return out;
}

// The last populations of independent climbs; one that did not reach the event has samples of weight 0.
RareSamples climb_until(LatentSampler& sampler, const RowLevel& level, const Search& search, int64_t n,
                        const EstimateOptions& o) {
  const int64_t each = std::clamp((n + kClimbs - 1) / kClimbs, kFewestParticles, o.particles);
  const int64_t climbs = std::max(kClimbs, (n + each - 1) / each);
  std::vector<at::Tensor> rows;
  std::vector<double> weights, found;
  for (int64_t k = 0; k < climbs; ++k) {
    const Climb again =
        climb_again(sampler, level, search.climb.rungs, o.key.child("again").child(static_cast<uint64_t>(k)), each);
    found.push_back(again.reached ? std::exp(again.log_probability) : 0);
    const int64_t own = (k + 1) * n / climbs - k * n / climbs;
    rows.push_back((again.reached ? again.last.rows : search.climb.last.rows).narrow(0, 0, own));
    weights.insert(weights.end(), static_cast<size_t>(own), found.back());
  }
  RareSamples out;
  out.samples = at::cat(rows);
  out.weights = at::empty({n}, at::kDouble);
  std::copy(weights.begin(), weights.end(), out.weights.mutable_data_ptr<double>());
  const auto m = static_cast<double>(found.size());
  double mean = 0, square = 0;
  for (const double p : found) mean += p / m;
  for (const double p : found) square += (p - mean) * (p - mean);
  out.probability.probability = mean, out.probability.standard_error = std::sqrt(square / (m * (m - 1)));
  set_interval(out.probability, kStudent);
  return out;
}

RareSamples draw_found(LatentSampler& sampler, const RowLevel& level, const Search& search, int64_t n,
                       const EstimateOptions& o) {
  RareSamples out = search.method == RareMethod::splitting ? climb_until(sampler, level, search, n, o)
                                                           : propose_until(sampler, level, search, n, o);
  out.probability.samples = sampler.spent(), out.probability.method = name_of(search.method);
  return out;
}

}  // namespace

RareSamples draw_beyond(LatentSampler& sampler, const RowLevel& statistic, double probability, int64_t n,
                        const EstimateOptions& o) {
  if (n < 1) throw InputError("[sample] expected at least one sample, got {}", n);
  FoundQuantile found = find_quantile(sampler, statistic, probability, o);
  const RowLevel beyond = [&, value = found.quantile.value](std::span<const double> row) {
    const double own = statistic(row);
    return own > value ? kHolds : own;
  };
  EstimateOptions fresh = o;
  fresh.key = o.key.child("beyond");
  RareSamples out;
  Search& search = found.search;
  // Where hardly any draw lies beyond the number itself (many are equal to it), the event is searched for on its own.
  if (found.beyond < kFewestBeyond) {
    out = draw_event(sampler, beyond, n, fresh);
  } else {
    search.threshold = kHolds, search.accepted = found.share_beyond;
    search.climb.rungs.push_back({kHolds, search.climb.rungs.back().steps});
    out = draw_found(sampler, beyond, search, n, fresh);
  }
  out.threshold = found.quantile;
  return out;
}

RareSamples draw_event(LatentSampler& sampler, const RowLevel& level, int64_t n, const EstimateOptions& o) {
  if (n < 1) throw InputError("[sample] expected at least one sample, got {}", n);
  const Search search = search_event(sampler, level, 0, o);
  if (!search.climb.reached) return {.samples = {}, .weights = {}, .probability = not_reached(search, sampler)};
  return draw_found(sampler, level, search, n, o);
}

}  // namespace htfm
