#include "htfm/stat/score_calibration.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/stat/order.h"

namespace htfm {

namespace {

constexpr int kKnots = 301;
constexpr double kExcesses = 4;  // times as many say how the tail goes on

double log_far(const ScoreLaw& law, double score) { return -std::log(law.place(score).p); }

// Mean excess of -log p over the threshold that k draws lie beyond, on the side of `sign`.
double mean_excess(std::span<const double> sorted, const ScoreLaw& law, size_t k, bool above) {
  const size_t n = sorted.size();
  const auto from_end = [&](size_t i) { return above ? sorted[n - 1 - i] : sorted[i]; };
  const double threshold = log_far(law, from_end(k));
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum += log_far(law, from_end(i)) - threshold;
  return std::clamp(sum / static_cast<double>(k), 0.2, 5.0);
}

}  // namespace

ScoreCalibration ScoreCalibration::fit(std::span<const double> sorted, const ScoreLaw& law, double beyond) {
  const auto n = static_cast<double>(sorted.size());
  if (sorted.size() < kFewest) throw InputError("[scores] expected at least {} draws, got {}", kFewest, sorted.size());
  ScoreCalibration out;
  const double edge = std::min(0.05, beyond / n), last = law.score({edge, true});
  for (int i = 0; i < kKnots; ++i) {
    const double meant = last * (2.0 * i / (kKnots - 1) - 1);
    const double own = quantile_of_sorted(sorted, law.place(meant).level());
    if (!out.own_.empty() && !(own > out.own_.back())) continue;
    out.own_.push_back(own), out.meant_.push_back(meant);
  }
  const auto k = static_cast<size_t>(kExcesses * edge * n);
  out.below_ = mean_excess(sorted, law, k, false), out.above_ = mean_excess(sorted, law, k, true);
  return out;
}

TailPlace ScoreCalibration::place(double score, const ScoreLaw& law) const {
  if (own_.size() < 2) return law.place(score);
  const auto beyond = [&](double knot, double meant, double slope) {
    const double l = log_far(law, meant) + (log_far(law, score) - log_far(law, knot)) / slope;
    return std::exp(-std::min(l, 690.0));
  };
  if (score > own_.back()) return {beyond(own_.back(), meant_.back(), above_), true};
  if (score < own_.front()) return {beyond(own_.front(), meant_.front(), below_), false};
  const auto right = std::upper_bound(own_.begin() + 1, own_.end() - 1, score);
  const auto k = static_cast<size_t>(right - own_.begin());
  return law.place(std::lerp(meant_[k - 1], meant_[k], (score - own_[k - 1]) / (own_[k] - own_[k - 1])));
}

std::vector<double> ScoreCalibration::numbers() const {
  std::vector<double> out{below_, above_};
  out.insert(out.end(), own_.begin(), own_.end());
  out.insert(out.end(), meant_.begin(), meant_.end());
  return out;
}

ScoreCalibration ScoreCalibration::from_numbers(std::span<const double> v) {
  if (v.size() < 6 || v.size() % 2)
    throw InputError("[scores] expected two slopes, then at least two pairs; got {} numbers", v.size());
  if (!std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); }))
    throw InputError("[scores] expected finite slopes and pairs, got nan or inf");
  ScoreCalibration out;
  out.below_ = v[0], out.above_ = v[1];
  const auto knots = static_cast<int64_t>((v.size() - 2) / 2);
  out.own_.assign(v.begin() + 2, v.begin() + 2 + knots);
  out.meant_.assign(v.begin() + 2 + knots, v.end());
  if (!std::is_sorted(out.own_.begin(), out.own_.end()) || !std::is_sorted(out.meant_.begin(), out.meant_.end()))
    throw InputError("[scores] expected ascending pairs, got scores {} and meant ones {}", order_text(out.own_),
                     order_text(out.meant_));
  return out;
}

}  // namespace htfm
