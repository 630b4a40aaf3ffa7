#include "htfm/stat/stray_law.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"

namespace htfm {

namespace {

constexpr double kWidth = 0.1;       // half the width on the logarithm of the distance: a tenth of it
constexpr double kOfGap = 0.25;      // at most this share of the way to the others
constexpr double kOfNext = 0.4;      // and of that to the next such value
constexpr double kLeastPart = 1e-4;  // of one value's part: what lies farther out is as far as that
constexpr int kSteps = 200;          // of an integral over one value's part
constexpr double kFarthest = 709;    // logarithm of a distance
constexpr double kLeastShare = 1e-18, kMostShare = 0.25;
constexpr double kRounding = 1e-12;  // of a logarithm

// The quantile function of the triangular law on (-1, 1) from its upper end, and back.
double triangle(double p) { return p < 0.5 ? 1 - std::sqrt(2 * p) : std::sqrt(2 * (1 - p)) - 1; }
double beyond_in_triangle(double t) { return t > 0 ? (1 - t) * (1 - t) / 2 : 1 - (1 + t) * (1 + t) / 2; }

}  // namespace

StrayLaw StrayLaw::fit(std::span<const double> sorted, size_t count, bool above, double centre, double bound,
                       double step) {
  StrayLaw out;
  if (count == 0) return out;
  const size_t n = sorted.size();
  const double sign = above ? 1 : -1;
  const auto value = [&](size_t i) { return above ? sorted[n - count + i] : sorted[count - 1 - i]; };
  const auto far = [&](double x) { return std::log(sign * (x - centre)); };
  const double next = above ? sorted[n - count - 1] : sorted[count];
  out.share_ = static_cast<double>(count) / static_cast<double>(n), out.centre_ = centre, out.above_ = above;
  for (size_t i = 0; i < count; ++i) out.distance_.push_back(far(value(i)));
  const double gap = out.distance_[0] - far(next), end = std::isfinite(bound) ? far(bound) : kFarthest;
  for (size_t i = 0; i < count; ++i) {
    double width = std::min({kWidth, kOfGap * gap, std::max(end - out.distance_[i], 0.0)});
    for (const size_t j : {i - 1, i + 1}) {
      if (j >= count) continue;
      const bool same = std::abs(value(i) - value(j)) <= step;
      width = same ? 0 : std::min(width, kOfNext * std::abs(out.distance_[i] - out.distance_[j]));
    }
    out.width_.push_back(width);
  }
  return out;
}

double StrayLaw::from_centre(double log_distance) const { return centre_ + (above_ ? 1 : -1) * std::exp(log_distance); }

double StrayLaw::border() const { return from_centre(distance_.front() - width_.front() - kRounding); }

double StrayLaw::value(double p) const {
  const auto k = static_cast<double>(count());
  const double at = std::clamp(p / share_ * k, 0.0, k);
  const size_t part = std::min(static_cast<size_t>(at), count() - 1), i = count() - 1 - part;
  return from_centre(distance_[i] + width_[i] * triangle(at - static_cast<double>(part)));
}

double StrayLaw::place(double x, double v) const {
  const double far = std::log((above_ ? 1 : -1) * (x - centre_));
  double parts = 0;  // that lie beyond x
  for (size_t i = 0; i < count(); ++i) {
    const double from = far - distance_[i], width = width_[i];
    if (std::abs(from) <= width + kRounding)
      parts += width > 0 ? beyond_in_triangle(std::clamp(from / width, -1.0, 1.0)) : above_ ? 1 - v : v;
    else
      parts += from < 0 ? 1 : 0;
  }
  return share_ * std::max(parts, kLeastPart) / static_cast<double>(count());
}

double StrayLaw::sum_beyond(double p) const {
  const double part = share_ / static_cast<double>(count());
  double sum = 0;
  for (double done = 0; done < std::min(p, share_) * (1 - 1e-12);) {
    const double width = std::min({p, share_, part * (std::floor(done / part + 0.5) + 1)}) - done;
    for (int i = 0; i < kSteps; ++i) sum += width / kSteps * value(done + width * (i + 0.5) / kSteps);
    done += width;
  }
  return sum;
}

StrayLaw StrayLaw::with_share(double share) const {
  if (!(share > 0)) return {};
  StrayLaw out = *this;
  out.share_ = share;
  return out;
}

void StrayLaw::add_numbers(std::vector<double>& out) const {
  out.push_back(share_), out.push_back(centre_), out.push_back(static_cast<double>(count()));
  out.insert(out.end(), distance_.begin(), distance_.end());
  out.insert(out.end(), width_.begin(), width_.end());
}

StrayLaw StrayLaw::from_numbers(std::span<const double>& v, bool above) {
  constexpr size_t kHead = 3;
  const bool counted =
      v.size() >= kHead && v[2] >= 0 && v[2] <= static_cast<double>((v.size() - kHead) / 2) && v[2] == std::floor(v[2]);
  if (!counted)
    throw InputError(
        "[margin] expected values far beyond all others: a share, a centre, how many, and two numbers of each; got {} "
        "numbers",
        v.size());
  StrayLaw out;
  const auto count = static_cast<size_t>(v[2]);
  out.share_ = v[0], out.centre_ = v[1], out.above_ = above;
  const std::span<const double> distance = v.subspan(kHead, count), width = v.subspan(kHead + count, count);
  out.distance_.assign(distance.begin(), distance.end()), out.width_.assign(width.begin(), width.end());
  v = v.subspan(kHead + 2 * count);
  bool apart = count > 0 ? out.share_ >= kLeastShare && out.share_ <= kMostShare : out.share_ == 0;
  for (size_t i = 0; i < count; ++i) {
    apart = apart && width[i] >= 0 && std::abs(distance[i]) + width[i] <= kFarthest;
    if (i > 0) apart = apart && distance[i - 1] + width[i - 1] <= distance[i] - width[i];
  }
  if (!apart)
    throw InputError(
        "[margin] expected {} values far beyond all others of a share of at most 1/4, that ascend and lie apart; got "
        "the share {}",
        count, out.share_);
  return out;
}

}  // namespace htfm
