#include "htfm/stat/margin_rounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "htfm/base/parallel.h"
#include "htfm/stat/estimators.h"

namespace htfm {

namespace {

constexpr double kReachShare = 0.02;  // share of the excesses beyond the place that says how far a tail reaches

// The values ascending towards the tail.
std::vector<double> turned(const std::vector<double>& sorted) {
  std::vector<double> out(sorted.rbegin(), sorted.rend());
  for (double& v : out) v = -v;
  return out;
}

// The logarithm of how far a refit to the values beyond a threshold reaches; 0 where there is none.
double reach_of(const std::vector<double>& sorted, double from) {
  const auto first = std::upper_bound(sorted.begin(), sorted.end(), from);
  std::vector<double> tail{from};
  tail.insert(tail.end(), first, sorted.end());
  const GpdFit fit = fit_gpd(tail, static_cast<int64_t>(tail.size()) - 1);
  return std::isnan(fit.shape) ? 0 : std::log(fit.excess_quantile(kReachShare));
}

std::vector<size_t> ranking(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  return order;
}

}  // namespace

std::vector<int32_t> RowRounds::counts(int64_t round) const {
  const Key own = key.child(static_cast<uint64_t>(round));
  std::vector<int32_t> out(static_cast<size_t>(rows), 0);
  for (int64_t i = 0; i < rows; ++i) ++out[own.below(static_cast<uint64_t>(rows), static_cast<uint64_t>(i))];
  return out;
}

std::vector<int64_t> RowRounds::drawn(int64_t round) const {
  const std::vector<int32_t> times = counts(round);
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) out.insert(out.end(), static_cast<size_t>(times[static_cast<size_t>(i)]), i);
  return out;
}

MarginRounds::MarginRounds(const Margin& margin, std::vector<double> values, const RowRounds& rows, Key key)
    : margin_(margin), rows_(rows) {
  for (size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i])) order_.push_back(static_cast<int64_t>(i));
  const auto at = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
  std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return at(a) < at(b); });
  for (const int64_t i : order_) sorted_.push_back(values[static_cast<size_t>(i)]);
  const MarginTail &below = margin_.below(), &above = margin_.above();
  std::vector<double> others = sorted_;
  std::erase_if(others, [&](double x) { return !margin_.is_of_others(x); });
  const std::vector<double> down = turned(others);
  if (below.there() && above.there() && below.shape == above.shape) {
    std::tie(below_, above_) =
        gpd_posterior_of_two(down, below.exceedances, others, above.exceedances, rows_.rounds, key.child("both"));
  } else {
    if (below.there()) below_ = gpd_posterior(down, below.exceedances, rows_.rounds, key.child("below"));
    if (above.there()) above_ = gpd_posterior(others, above.exceedances, rows_.rounds, key.child("above"));
  }
  pair_draws();
}

std::vector<double> MarginRounds::expanded(const std::vector<int32_t>& counts) const {
  std::vector<double> out;
  out.reserve(sorted_.size());
  for (size_t i = 0; i < sorted_.size(); ++i)
    out.insert(out.end(), static_cast<size_t>(counts[static_cast<size_t>(order_[i])]), sorted_[i]);
  return out;
}

void MarginRounds::pair_draws() {
  if (below_.empty() && above_.empty()) return;
  const auto rounds = static_cast<size_t>(rows_.rounds);
  std::vector<double> down(rounds, 0.0), up(rounds, 0.0);
  parallel_for(rows_.rounds, [&](int64_t b) {
    std::vector<double> values = expanded(rows_.counts(b));
    std::erase_if(values, [&](double x) { return !margin_.is_of_others(x); });
    if (!below_.empty()) down[static_cast<size_t>(b)] = reach_of(turned(values), -margin_.below().from);
    if (!above_.empty()) up[static_cast<size_t>(b)] = reach_of(values, margin_.above().from);
  });
  const auto pair = [&](const std::vector<double>& refits, const std::vector<std::vector<GpdDraw>*>& sides) {
    std::vector<double> reach(rounds, 0.0);
    for (const std::vector<GpdDraw>* side : sides)
      for (size_t b = 0; b < rounds; ++b) reach[b] += std::log((*side)[b].excess(kReachShare));
    const std::vector<size_t> of_draws = ranking(reach), of_rounds = ranking(refits);
    for (std::vector<GpdDraw>* side : sides) {
      const std::vector<GpdDraw> draws = *side;
      for (size_t r = 0; r < rounds; ++r) (*side)[of_rounds[r]] = draws[of_draws[r]];
    }
  };
  if (!below_.empty() && !above_.empty() && margin_.below().shape == margin_.above().shape) {
    for (size_t b = 0; b < rounds; ++b) up[b] += down[b];
    pair(up, {&below_, &above_});
    return;
  }
  if (!below_.empty()) pair(down, {&below_});
  if (!above_.empty()) pair(up, {&above_});
}

Margin MarginRounds::law(int64_t round, const std::vector<int32_t>& counts) const {
  const std::vector<double> values = expanded(counts);
  if (values.size() < 2) return margin_;
  MarginTail below = margin_.below(), above = margin_.above();
  const auto b = static_cast<size_t>(round);
  if (!below_.empty()) below.shape = below_[b].shape, below.scale = below_[b].scale;
  if (!above_.empty()) above.shape = above_[b].shape, above.scale = above_[b].scale;
  return margin_.redrawn(values, below, above);
}

}  // namespace htfm
