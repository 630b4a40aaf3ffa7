#include "htfm/risk/spread.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/nan.h"
#include "htfm/stat/estimators.h"

namespace htfm {

namespace {

// Quantile of Student's law for n - 1 degrees of freedom over that of the normal one (Cornish and Fisher).
double student_factor(double z, double freedom) {
  const double z2 = z * z;
  return 1 + (z2 + 1) / (4 * freedom) + (5 * z2 * z2 + 16 * z2 + 3) / (96 * freedom * freedom);
}

// The standard deviation of finite values around their mean, on the scale of logarithms where all are positive.
double deviation(const std::vector<double>& values, bool logs) {
  double n = 0, mean = 0, square = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    const double x = logs ? std::log(std::abs(v)) : v;
    ++n;
    const double step = x - mean;
    mean += step / n, square += step * (x - mean);
  }
  return n < 2 ? kNan : std::sqrt(square / (n - 1));
}

void stretch(Scored& s, const std::vector<double>& rounds, const std::vector<double>& refits, double z) {
  const auto same_sign = [&](const std::vector<double>& list) {
    return std::all_of(list.begin(), list.end(), [&](double v) { return !std::isfinite(v) || v * s.value > 0; });
  };
  const bool logs = same_sign(rounds) && same_sign(refits);
  const double of_rounds = deviation(rounds, logs), of_refits = deviation(refits, logs);
  const double factor = student_factor(z, static_cast<double>(refits.size()) - 1) * of_refits;
  if (!std::isfinite(factor)) return;
  // Where the rounds do not move a figure at all the refits alone speak.
  if (!(of_rounds > 0)) {
    const double half = z * factor;
    s.low = logs ? std::min(s.value * std::exp(half), s.value * std::exp(-half)) : s.value - half;
    s.high = logs ? std::max(s.value * std::exp(half), s.value * std::exp(-half)) : s.value + half;
    return;
  }
  if (factor <= of_rounds) return;
  const auto move = [&](double end) {
    return logs ? s.value * std::pow(end / s.value, factor / of_rounds)
                : s.value + (end - s.value) * factor / of_rounds;
  };
  if (std::isfinite(s.low)) s.low = move(s.low);
  if (std::isfinite(s.high)) s.high = move(s.high);
}

}  // namespace

void set_intervals(const std::vector<Scored*>& figures, const std::vector<std::vector<double>>& rounds,
                   const std::vector<std::vector<double>>& refits, double level) {
  const double z = normal_quantile(0.5 + level / 2);
  for (size_t i = 0; i < figures.size(); ++i) {
    Scored& s = *figures[i];
    s.low = s.high = kNan;
    std::vector<double> values, again;
    for (const auto& round : rounds)
      if (!std::isnan(round[i])) values.push_back(round[i]);
    if (std::isnan(s.value) || 2 * values.size() <= rounds.size()) continue;
    for (const auto& refit : refits)
      if (!std::isnan(refit[i])) again.push_back(refit[i]);
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
      return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
    };
    s.low = std::min(at((1 - level) / 2), s.value), s.high = std::max(at((1 + level) / 2), s.value);
    if (std::isfinite(s.value) && again.size() > 1) stretch(s, values, again, z);
  }
}

}  // namespace htfm
