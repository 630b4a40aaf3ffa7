#include "htfm/coupling/level_noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "htfm/stat/estimators.h"

namespace htfm {

namespace {

double normal_survival(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

}  // namespace

double LevelNoise::survival(double s) const {
  const double d = deviation_;
  if (d == 0) return s > 0 ? std::exp(-s) : 1;
  return normal_survival(s / d) + std::exp(d * d / 2 - s) * normal_survival(d - s / d);
}

std::vector<double> LevelNoise::apply(Key key, std::vector<double> level) const {
  if (deviation_ == 0) return level;
  std::vector<double> noise(level.size());
  fill_normal(key, 0, static_cast<int64_t>(level.size()), noise.data());
  for (size_t i = 0; i < level.size(); ++i)
    level[i] = std::clamp(1 - survival(deviation_ * noise[i] - std::log1p(-level[i])), 0x1p-53, 1 - 0x1p-53);
  return level;
}

double LevelNoise::data_share(double p) const {
  const double d = deviation_;
  if (d == 0) return p;
  double low = -9 * d, high = d * d / 2 - std::log(std::max(p, 1e-300)) + 1;
  for (int i = 0; i < 100; ++i) (survival((low + high) / 2) > p ? low : high) = (low + high) / 2;
  // Given s, e is normal about s - d^2 with the deviation d, where it is positive.
  const double mean = low - d * d;
  return std::exp(-std::max(0.0, mean - d * normal_quantile(normal_survival(-mean / d) / 2)));
}

}  // namespace htfm
