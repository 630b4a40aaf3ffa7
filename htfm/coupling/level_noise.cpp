#include "htfm/coupling/level_noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "htfm/base/parallel.h"
#include "htfm/stat/estimators.h"

namespace htfm {

namespace {

constexpr double kStep = 0.02, kRowStep = 0.005;  // of s, and of e in integrals
constexpr double kFar = 37;                       // e beyond what a level in double precision can be
constexpr double kReach = 9;                      // deviations beyond which a normal law ends

double normal_survival(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

}  // namespace

LevelNoise::LevelNoise(double deviation, double fade) : deviation_(deviation), fade_(fade) {
  if (deviation == 0 || fade == 0) return;
  lowest_ = -kReach * deviation;
  log_survival_.resize(static_cast<size_t>((kFar + kReach * deviation - lowest_) / kStep) + 1);
  // The integral of exp(-e) P(noise > s - e) over e, by the midpoint rule; exp(-e) is integrated exactly in a cell.
  const auto cells = static_cast<int64_t>((kFar + kReach * deviation) / kRowStep);
  const double cell = -std::expm1(-kRowStep);
  parallel_for(static_cast<int64_t>(log_survival_.size()), [&](int64_t i) {
    const double s = lowest_ + kStep * static_cast<double>(i);
    double sum = 0;
    int64_t k = 0;
    for (; k < cells; ++k) {
      const double e = kRowStep * static_cast<double>(k), z = (s - e - kRowStep / 2) / deviation_at(e + kRowStep / 2);
      if (z < -kReach) break;
      if (z < kReach) sum += std::exp(-e) * cell * normal_survival(z);
    }
    log_survival_[static_cast<size_t>(i)] = std::log(sum + std::exp(-kRowStep * static_cast<double>(k)));
  });
}

double LevelNoise::deviation_at(double e) const { return fade_ == 0 ? deviation_ : deviation_ * std::exp(-fade_ * e); }

double LevelNoise::survival(double s) const {
  const double d = deviation_;
  if (d == 0) return s > 0 ? std::exp(-s) : 1;
  if (fade_ == 0) return normal_survival(s / d) + std::exp(d * d / 2 - s) * normal_survival(d - s / d);
  const double place = (s - lowest_) / kStep;
  if (place <= 0) return 1;
  const auto k = static_cast<size_t>(place);
  if (k + 1 >= log_survival_.size()) return std::exp(-s);
  return std::exp(std::lerp(log_survival_[k], log_survival_[k + 1], place - static_cast<double>(k)));
}

std::vector<double> LevelNoise::apply(Key key, std::vector<double> level) const {
  if (deviation_ == 0) return level;
  std::vector<double> noise(level.size());
  fill_normal(key, 0, static_cast<int64_t>(level.size()), noise.data());
  for (size_t i = 0; i < level.size(); ++i) {
    const double e = -std::log1p(-level[i]);
    level[i] = std::clamp(1 - survival(deviation_at(e) * noise[i] + e), 0x1p-53, 1 - 0x1p-53);
  }
  return level;
}

// Given s, e is normal about s - d^2 with the deviation d, where it is positive; where d fades it has no such law.
double LevelNoise::median_row(double s) const {
  const double d = deviation_;
  if (fade_ == 0) {
    const double mean = s - d * d;
    return mean - d * normal_quantile(normal_survival(-mean / d) / 2);
  }
  const double from = std::max(0.0, s - d * (kReach + d)), to = std::max(0.0, s) + kReach * d;
  const auto cells = static_cast<size_t>((to - from) / kRowStep) + 1;
  std::vector<double> upto(cells + 1, 0);
  for (size_t k = 0; k < cells; ++k) {
    const double e = from + kRowStep * (static_cast<double>(k) + 0.5), own = deviation_at(e), z = (s - e) / own;
    upto[k + 1] = upto[k] + std::exp(from - e - z * z / 2) / own;
  }
  const auto half = static_cast<size_t>(std::lower_bound(upto.begin(), upto.end(), upto.back() / 2) - upto.begin());
  const double before = upto[half - 1], share = (upto.back() / 2 - before) / (upto[half] - before);
  return from + kRowStep * (static_cast<double>(half) - 1 + share);
}

double LevelNoise::data_share(double p) const {
  const double d = deviation_;
  if (d == 0) return p;
  double low = -kReach * d, high = d * d / 2 - std::log(std::max(p, 1e-300)) + 1;
  for (int i = 0; i < 100; ++i) (survival((low + high) / 2) > p ? low : high) = (low + high) / 2;
  return std::exp(-std::max(0.0, median_row(low)));
}

}  // namespace htfm
