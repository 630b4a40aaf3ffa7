#include "htfm/tail/risk_measures.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"

namespace htfm {

namespace {

// Beyond the threshold: by the fitted law.
void measure_far(const TailReport& r, double q, double interval, RiskMeasure& out) {
  const Interval at = gpd_quantile_interval(r.tail, r.choice.fit, q, interval),
                 mean = gpd_shortfall_interval(r.tail, r.choice.fit, q, interval);
  out.quantile = {r.choice.fit.quantile(q), at.lower, at.upper};
  out.sfall = {r.choice.fit.shortfall(q), mean.lower, mean.upper};
}

// Between the largest values that were looked at and the threshold: by order statistics, and the fitted law beyond.
void measure_near(const TailReport& r, double q, double interval, RiskMeasure& out) {
  const auto n = static_cast<double>(r.choice.n), k = static_cast<double>(r.choice.k);
  const auto from_top = [&](double rank) {  // of all n values; the tail holds the largest ones
    const double at = std::clamp(rank, 0.0, static_cast<double>(r.tail.size() - 1));
    const auto i = static_cast<size_t>(at);
    const size_t last = r.tail.size() - 1;
    return std::lerp(r.tail[last - i], r.tail[last - std::min(i + 1, last)], at - static_cast<double>(i));
  };
  const double z = normal_quantile(0.5 + interval / 2), half = z * std::sqrt(n * q * (1 - q));
  out.quantile = {from_top(n * q - 0.5), from_top(n * q - 0.5 + half), from_top(n * q - 0.5 - half)};
  double body = 0;  // of values between the threshold and the level
  const auto inside = static_cast<int64_t>(std::floor(n * q - k));
  for (int64_t i = 0; i < inside; ++i) body += from_top(k + static_cast<double>(i));
  const double rest = (n * q - k - static_cast<double>(inside)) * out.quantile.value;
  // The noise of the values inside is small beside that of the tail's mean.
  const Interval mean = gpd_shortfall_interval(r.tail, r.choice.fit, k / n, interval);
  const auto total = [&](double tail_mean) { return (k * tail_mean + body + rest) / (n * q); };
  out.sfall = {total(r.choice.fit.shortfall(k / n)), total(mean.lower), total(mean.upper)};
}

Scored in_data_units(const TailReport& r, const Scored& s) {
  const double value = r.centre + r.sign * s.value, a = r.centre + r.sign * s.low, b = r.centre + r.sign * s.high;
  return {value, std::min(a, b), std::max(a, b)};
}

}  // namespace

std::vector<RiskMeasure> risk_measures(const TailReport& r, std::span<const double> p, double interval) {
  std::vector<RiskMeasure> out;
  for (const double level : p) {
    if (!(level > 0 && level < 1)) throw InputError("[p] expected levels between 0 and 1, got {}", level);
    RiskMeasure m;
    m.p = level;
    const double q = 1 - level, count = q * static_cast<double>(r.choice.n);
    if (r.choice.k > 0 && count < static_cast<double>(r.choice.k))
      measure_far(r, q, interval, m);
    else if (r.choice.k > 0 && count < static_cast<double>(r.tail.size()))
      measure_near(r, q, interval, m);
    m.quantile = in_data_units(r, m.quantile), m.sfall = in_data_units(r, m.sfall);
    out.push_back(m);
  }
  return out;
}

double level_of_period(double period) {
  if (!(period > 1)) throw InputError("[return period] expected more than 1 row, got {}", period);
  return 1 - 1 / period;
}

double period_of_level(double p) {
  const double period = 1 / (1 - p), whole = std::round(period);
  return std::abs(period - whole) < 1e-9 * period ? whole : period;
}

std::vector<RiskMeasure> return_levels(const TailReport& r, std::span<const double> periods, double interval) {
  std::vector<double> p;
  for (const double period : periods) p.push_back(level_of_period(period));
  return risk_measures(r, p, interval);
}

}  // namespace htfm
