#include "htfm/stat/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/base/parallel.h"
#include "htfm/stat/order.h"

namespace htfm {
void check_options(const BootstrapOptions& options) {
  if (options.rounds < 0) throw InputError("[bootstrap] expected a number of rounds, got {}", options.rounds);
  if (!(options.level > 0 && options.level < 1))
    throw InputError("[bootstrap] expected a level in (0, 1), got {}", options.level);
}

Scored::Scored() : Scored(kNan, kNan, kNan) {}

Scored percentile_interval(double value, std::vector<double> rounds, double level) {
  const size_t all = rounds.size();
  std::erase_if(rounds, [](double x) { return !std::isfinite(x); });
  if (!std::isfinite(value) || 2 * rounds.size() <= all) return {value, kNan, kNan};
  std::sort(rounds.begin(), rounds.end());
  return {value, quantile_of_sorted(rounds, (1 - level) / 2), quantile_of_sorted(rounds, (1 + level) / 2)};
}

Scored reflected_interval(double value, std::vector<double> rounds, double level) {
  const Scored s = percentile_interval(value, std::move(rounds), level);
  if (!s.has_interval()) return s;
  const double high = std::max(value, s.high);
  return {value, std::max(0.0, 2 * value - high), high};
}

Scored magnitude(const Scored& s) {
  const double a = std::abs(s.low), b = std::abs(s.high);
  return {std::abs(s.value), s.low <= 0 && s.high >= 0 ? 0.0 : std::min(a, b), std::max(a, b)};
}

Scored mean_of(std::span<const Scored> scores) {
  const auto mean = [&](double Scored::*part) {
    double sum = 0;
    int64_t n = 0;
    for (const Scored& s : scores)
      if (std::isfinite(s.*part)) sum += s.*part, ++n;
    return n > 0 ? sum / static_cast<double>(n) : kNan;
  };
  return {mean(&Scored::value), mean(&Scored::low), mean(&Scored::high)};
}

int64_t binomial_quantile(int64_t n, double p, double z) {
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (p > 0.5) return n - binomial_quantile(n, 1 - p, -z);
  const auto trials = static_cast<double>(n);
  const double mean = trials * p, deviation = std::sqrt(mean * (1 - p));
  if (mean > 30) {
    const double k = mean + deviation * z + (1 - 2 * p) * (z * z - 1) / 6;
    return std::clamp<int64_t>(std::llround(k), 0, n);
  }
  double left = 0.5 * std::erfc(-z * M_SQRT1_2), mass = std::exp(trials * std::log1p(-p));
  int64_t k = 0;
  for (; k < n && left > mass; ++k) {
    left -= mass;
    mass *= static_cast<double>(n - k) / static_cast<double>(k + 1) * (p / (1 - p));
    if (mass < 1e-18 && static_cast<double>(k) > mean) break;
  }
  return k;
}

TopDraws::TopDraws(int64_t n, int64_t top, int64_t rounds, Key key)
    : top_(std::clamp<int64_t>(top, 1, n)),
      rounds_(rounds),
      reach_(top_),
      ranks_(static_cast<size_t>(top_ * (rounds + 1))) {
  std::iota(ranks_.end() - top_, ranks_.end(), 0);
  parallel_for(rounds_, [&](int64_t r) {
    const Key own = key.child(static_cast<uint64_t>(r));
    std::vector<double> sums(static_cast<size_t>(top_));
    fill_uniform(own.child("spacings"), 0, top_, sums.data());
    double sum = 0;
    for (double& s : sums) s = sum -= std::log(s);
    double rest = 0;
    fill_log_gamma_draw(own.child("rest"), static_cast<double>(n - top_ + 1), 0, 1, &rest);
    const double scale = static_cast<double>(n) / (sum + std::exp(rest));
    for (int64_t j = 0; j < top_; ++j)
      ranks_[static_cast<size_t>(r * top_ + j)] =
          static_cast<int32_t>(std::min(sums[static_cast<size_t>(j)] * scale, static_cast<double>(n - 1)));
  });
  for (int64_t r = 0; r < rounds_; ++r) reach_ = std::max<int64_t>(reach_, round(r).back() + 1);
}

}  // namespace htfm
