#include "htfm/risk/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "htfm/base/nan.h"
#include "htfm/stat/order.h"

namespace htfm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The samples of one loss that matter, the worst first.
class WorstFirst {
 public:
  WorstFirst(const std::vector<double>& values, bool high, double lowest_level)
      : values_(&values), sign_(high ? 1 : -1), n_(static_cast<double>(values.size())) {
    const auto kept = static_cast<int64_t>(std::ceil((1 - lowest_level) * n_)) + 2;
    order_.resize(values.size());
    std::iota(order_.begin(), order_.end(), 0);
    const auto worse = [&](int32_t a, int32_t b) {
      const double x = sign_ * values[static_cast<size_t>(a)], y = sign_ * values[static_cast<size_t>(b)];
      return x > y || (x == y && a < b);
    };
    const auto last = order_.begin() + std::min<int64_t>(kept, static_cast<int64_t>(order_.size()));
    if (last != order_.end()) std::nth_element(order_.begin(), last, order_.end(), worse);
    order_.erase(last, order_.end());
    std::sort(order_.begin(), order_.end(), worse);
  }

  double at(size_t rank) const { return (*values_)[static_cast<size_t>(order_[std::min(rank, order_.size() - 1)])]; }
  double quantile(double p) const {
    const double position = (1 - p) * (n_ - 1);
    const auto k = static_cast<size_t>(position);
    return std::lerp(at(k), at(k + 1), position - static_cast<double>(k));
  }
  // The mean of the worst share 1 - p; the last sample counts with the part of it that belongs there.
  double shortfall(double p) const {
    const double share = (1 - p) * n_;
    const auto whole = static_cast<size_t>(share);
    double sum = (share - static_cast<double>(whole)) * at(whole);
    for (size_t i = 0; i < whole; ++i) sum += at(i);
    return sum / share;
  }
  // The samples beyond the quantile; where none are, as at the end of a scale, those that lie on it.
  std::span<const int32_t> beyond(double p) const {
    const double q = sign_ * quantile(p);
    const auto count = [&](bool with) {
      size_t k = 0;
      while (k < order_.size() && (sign_ * at(k) > q || (with && sign_ * at(k) == q))) ++k;
      return k;
    };
    const size_t strict = count(false);
    return {order_.data(), strict > 0 ? strict : count(true)};
  }

 private:
  const std::vector<double>* values_;
  double sign_, n_;
  std::vector<int32_t> order_;
};

double lowest_level(const RiskReport& r) {
  double low = r.options.stress_level;
  for (const double p : r.options.levels) low = std::min(low, p);
  for (const RiskLoss& l : r.losses)
    for (const RiskMeasure& m : l.return_levels) low = std::min(low, m.p);
  return low;
}

bool enough(const LossSamples& s, double p) {
  return (1 - p) * static_cast<double>(s.values[0].size()) >= s.fewest * (1 - 1e-9);
}

// A mean of a loss, or what it is where there is none.
double mean_or_endless(const LossSamples& s, size_t loss, double mean) {
  if (s.endless_above[loss] && s.endless_below[loss]) return kNan;
  return s.endless_above[loss] ? kInfinity : s.endless_below[loss] ? -kInfinity : mean;
}

double mean_over(const std::vector<double>& values, std::span<const int32_t> rows) {
  double sum = 0;
  for (const int32_t i : rows) sum += values[static_cast<size_t>(i)];
  return sum / static_cast<double>(rows.size());
}

void measure_one(RiskMeasure& m, const RiskLoss& loss, size_t k, const LossSamples& s, const WorstFirst& worst) {
  if (s.exact[k]) {
    m.quantile.value = s.exact[k]->settle(s.laws[k].value({1 - m.p, loss.high}));
    m.sfall.value = s.laws[k].mean_beyond(1 - m.p, loss.high);
    return;
  }
  m.quantile.value = m.sfall.value = kNan;
  if (!enough(s, m.p)) return;
  m.quantile.value = worst.quantile(m.p);
  const bool endless = loss.high ? s.endless_above[k] : s.endless_below[k];
  m.sfall.value = endless ? (loss.high ? kInfinity : -kInfinity) : worst.shortfall(m.p);
}

void measure_pair(JointRisk& j, const JointRisks& pair, const LossSamples& s, const std::vector<WorstFirst>& worst,
                  const std::vector<std::vector<uint8_t>>& beyond) {
  j.both.value = j.second_given_first.value = j.first_given_second.value = kNan;
  j.mean_first.value = j.mean_second.value = kNan;
  if (!enough(s, j.p)) return;
  const auto a = static_cast<size_t>(pair.first), b = static_cast<size_t>(pair.second);
  const auto of_a = worst[a].beyond(j.p), of_b = worst[b].beyond(j.p);
  if (of_a.empty() || of_b.empty()) return;
  double both = 0;
  for (const int32_t i : of_a) both += beyond[b][static_cast<size_t>(i)];
  j.both.value = both / static_cast<double>(s.values[a].size());
  j.second_given_first.value = both / static_cast<double>(of_a.size());
  j.first_given_second.value = both / static_cast<double>(of_b.size());
  j.mean_second.value = mean_or_endless(s, b, mean_over(s.values[b], of_a));
  j.mean_first.value = mean_or_endless(s, a, mean_over(s.values[a], of_b));
}

void measure_stress(StressTable& t, const RiskReport& r, const LossSamples& s, const std::vector<WorstFirst>& worst) {
  const auto rows = worst[static_cast<size_t>(t.given)].beyond(r.options.stress_level);
  t.samples = static_cast<int64_t>(rows.size());
  std::vector<double> values;
  for (size_t k = 0; k < t.rows.size(); ++k) {
    values.clear();
    for (const int32_t i : rows) values.push_back(s.values[k][static_cast<size_t>(i)]);
    std::sort(values.begin(), values.end());
    const bool some = !values.empty() && enough(s, r.options.stress_level);
    t.rows[k].mean.value = some ? mean_or_endless(s, k, mean_over(s.values[k], rows)) : kNan;
    for (size_t q = 0; q < t.rows[k].quantiles.size(); ++q)
      t.rows[k].quantiles[q].value = some ? quantile_of_sorted(values, r.options.stress_quantiles[q]) : kNan;
  }
}

std::vector<WorstFirst> worst_of(const RiskReport& r, const LossSamples& s) {
  const double low = lowest_level(r);
  std::vector<WorstFirst> out;
  for (size_t k = 0; k < s.values.size(); ++k) out.emplace_back(s.values[k], r.losses[k].high, low);
  return out;
}

std::vector<std::vector<uint8_t>> marks(const std::vector<WorstFirst>& worst, size_t n, double p) {
  std::vector<std::vector<uint8_t>> out;
  for (const WorstFirst& w : worst) {
    out.emplace_back(n, uint8_t{0});
    for (const int32_t i : w.beyond(p)) out.back()[static_cast<size_t>(i)] = 1;
  }
  return out;
}

}  // namespace

void measure(RiskReport& r, const LossSamples& s) {
  const std::vector<WorstFirst> worst = worst_of(r, s);
  for (size_t k = 0; k < r.losses.size(); ++k) {
    for (RiskMeasure& m : r.losses[k].measures) measure_one(m, r.losses[k], k, s, worst[k]);
    for (RiskMeasure& m : r.losses[k].return_levels) measure_one(m, r.losses[k], k, s, worst[k]);
  }
  for (size_t l = 0; l < r.options.levels.size() && !r.pairs.empty(); ++l) {
    const auto beyond = marks(worst, s.values[0].size(), r.options.levels[l]);
    for (JointRisks& pair : r.pairs) measure_pair(pair.levels[l], pair, s, worst, beyond);
  }
  for (StressTable& t : r.stress) measure_stress(t, r, s, worst);
}

std::vector<std::pair<int64_t, int64_t>> strongest_pairs(const RiskReport& r, const LossSamples& s, int64_t columns,
                                                         int64_t most) {
  std::vector<std::pair<int64_t, int64_t>> all;
  for (int64_t a = 0; a < columns; ++a)
    for (int64_t b = a + 1; b < columns; ++b) all.emplace_back(a, b);
  if (static_cast<int64_t>(all.size()) <= most || r.options.levels.empty()) return all;
  const std::vector<WorstFirst> worst = worst_of(r, s);
  const double p = r.options.levels[std::min<size_t>(1, r.options.levels.size() - 1)];
  const auto beyond = marks(worst, s.values[0].size(), p);
  std::vector<std::pair<int64_t, size_t>> strength;
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t both = 0;
    for (const int32_t row : worst[static_cast<size_t>(all[i].first)].beyond(p))
      both += beyond[static_cast<size_t>(all[i].second)][static_cast<size_t>(row)];
    strength.emplace_back(-both, i);
  }
  std::sort(strength.begin(), strength.end());
  strength.resize(static_cast<size_t>(most));
  std::sort(strength.begin(), strength.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::pair<int64_t, int64_t>> out;
  for (const auto& [both, i] : strength) out.push_back(all[i]);
  return out;
}

Scored conditional_of_rows(const std::vector<double>& first, bool first_high, const std::vector<double>& second,
                           bool second_high, double p, double interval) {
  if (static_cast<double>(first.size()) * (1 - p) < 5) return {};
  const std::vector<WorstFirst> worst{{first, first_high, p}, {second, second_high, p}};
  const auto beyond = marks(worst, first.size(), p);
  const auto rows = worst[0].beyond(p);
  double both = 0;
  for (const int32_t i : rows) both += beyond[1][static_cast<size_t>(i)];
  const double share = both / static_cast<double>(rows.size());
  const Interval i = share_interval(share, static_cast<double>(rows.size()), normal_quantile(0.5 + interval / 2));
  return {share, i.lower, i.upper};
}

}  // namespace htfm
