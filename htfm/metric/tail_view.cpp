#include "htfm/metric/tail_view.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "htfm/base/nan.h"
#include "htfm/stat/sort.h"

namespace htfm {
TailView::TailView(std::vector<double> values, int64_t top, double floor) : n_(static_cast<int64_t>(values.size())) {
  top = std::clamp<int64_t>(top, 1, n_);
  top = std::max<int64_t>(top, std::count_if(values.begin(), values.end(), [&](double v) { return v >= floor; }));
  std::nth_element(values.begin(), values.begin() + (n_ - top), values.end());
  top_.assign(values.end() - top, values.end());
  sort_values(top_);
  std::reverse(top_.begin(), top_.end());
  log_top_.reserve(top_.size());
  for (const double v : top_) log_top_.push_back(v > 0 ? std::log(v) : kNan);
}

int64_t TailView::above(double x, bool equal) const {
  const auto end = equal ? std::upper_bound(top_.begin(), top_.end(), x, std::greater<>())
                         : std::lower_bound(top_.begin(), top_.end(), x, std::greater<>());
  return end - top_.begin();
}

double TailView::quantile(Ranks ranks, double level) const {
  const auto n = static_cast<double>(n_);
  if (n * (1 - level) < 1 - 1e-9) return kNan;
  const double position = level * (n - 1);
  const auto below = static_cast<int64_t>(position);
  const auto rank = static_cast<size_t>(n_ - 1 - below);
  const double low = top_[static_cast<size_t>(ranks[rank])],
               high = top_[static_cast<size_t>(ranks[rank > 0 ? rank - 1 : 0])];
  return std::lerp(low, high, position - static_cast<double>(below));
}

double TailView::hill(Ranks ranks, int64_t k) const {
  if (k < 2 || k >= n_) return kNan;
  const double threshold = log_top_[static_cast<size_t>(ranks[static_cast<size_t>(k)])];
  double sum = 0;  // of differences: exactly 0 where all are equal
  for (int64_t j = 0; j < k; ++j) sum += log_top_[static_cast<size_t>(ranks[static_cast<size_t>(j)])] - threshold;
  return sum > 0 ? static_cast<double>(k) / sum : kNan;
}

ViewPair::ViewPair(const TailView& real, const TailView& fake) : real_(real), fake_(fake) {
  const std::vector<double>&a = real.top(), &b = fake.top();
  larger_.reserve(a.size()), as_large_.reserve(a.size());
  size_t more = 0, equal = 0;
  for (const double v : a) {
    while (more < b.size() && b[more] > v) ++more;
    while (equal < b.size() && b[equal] >= v) ++equal;
    larger_.push_back(static_cast<int64_t>(more)), as_large_.push_back(static_cast<int64_t>(equal));
  }
}

bool ViewPair::too_far(Ranks fake, int64_t rank) const {
  return rank > fake.back() && static_cast<int64_t>(fake.size()) < fake_.size();
}

int64_t ViewPair::drawn(Ranks fake, int64_t rank) const {
  if (too_far(fake, rank)) return rank;
  return std::lower_bound(fake.begin(), fake.end(), rank) - fake.begin();
}

ViewPair::Beyond ViewPair::beyond(Ranks real, Ranks fake, double level) const {
  Beyond out{kNan, kNan};
  const double cut = real_.quantile(real, level);
  if (std::isnan(cut)) return out;
  out.real = std::lower_bound(real.begin(), real.end(), real_.above(cut)) - real.begin();
  const int64_t reach = fake_.above(cut);
  out.fake = drawn(fake, reach);
  if (out.real == 0) return out;
  const auto n = static_cast<double>(out.real), m = static_cast<double>(out.fake);
  out.share = m / static_cast<double>(fake_.size()) / (n / static_cast<double>(real_.size()));
  if (out.fake == 0) return out;
  // Where the cut lies beyond a resample's end all counts are the sample's, also the small ones.
  const bool whole = too_far(fake, reach);
  size_t at = 0;
  const auto fakes = [&](int64_t rank) {
    if (whole) return static_cast<double>(rank);
    while (at < fake.size() && fake[at] < rank) ++at;
    return static_cast<double>(at);
  };
  out.ks = 0;
  for (int64_t j = 0, end = 0; j < out.real; j = end) {
    const auto rank = static_cast<size_t>(real[static_cast<size_t>(j)]);
    const double value = real_.top()[rank];
    for (end = j + 1; end < out.real && real_.top()[static_cast<size_t>(real[static_cast<size_t>(end)])] == value;)
      ++end;
    // Between two real values only the fake law moves, so that the largest distance is at one of them, just above or
    // just below.
    const double above = std::abs(static_cast<double>(j) / n - fakes(larger_[rank]) / m);
    const double below = std::abs(static_cast<double>(end) / n - fakes(as_large_[rank]) / m);
    out.ks = std::max({out.ks, above, below});
  }
  return out;
}

int64_t ViewPair::exceedances(Ranks real, Ranks fake) const {
  return drawn(fake, larger_[static_cast<size_t>(real.front())]);
}

double exceedance_probability(int64_t n, int64_t m, int64_t count) {
  if (count > m) return 0;
  double p = 1;
  for (int64_t i = 0; i < count && p > 0; ++i) p *= static_cast<double>(m - i) / static_cast<double>(n + m - i);
  return p;
}

}  // namespace htfm
