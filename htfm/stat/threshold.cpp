#include "htfm/stat/threshold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"

namespace htfm {
namespace {

constexpr double kLightest = std::numeric_limits<double>::infinity();

/// log P(statistic > a) = -rate (a - 0.093), the rate depending on the shape. Fitted to 4,000 draws of 300 excesses for
/// each shape; the law is within a percent of it between p = 0.5 and p = 0.01 for 30 excesses as well.
double rate_of_statistic(double shape) {
  constexpr std::array<double, 9> at{-0.4, -0.2, 0, 0.2, 0.4, 0.7, 1, 1.5, 2.5},
      rate{8.15, 9.7, 10.7, 11.6, 12.3, 12.4, 12, 11.7, 11.2};
  if (shape <= at.front()) return rate.front();
  for (size_t i = 1; i < at.size(); ++i)
    if (shape < at[i]) return std::lerp(rate[i - 1], rate[i], (shape - at[i - 1]) / (at[i] - at[i - 1]));
  return rate.back();
}

void widen(Interval& hull, const Interval& other) {
  if (std::isnan(other.lower) || std::isnan(other.upper)) return;
  hull.lower = std::min(hull.lower, other.lower);
  hull.upper = std::max(hull.upper, other.upper);
}

/// Confidence level of z standard errors on either side.
double level_of(double z) { return std::erf(z * M_SQRT1_2); }

/// Hill and moment differ by more than noise: their difference has variance 1/k under a power law.
bool agree(const TailEstimate& hill, const TailEstimate& moment) {
  return std::abs(hill.gamma - moment.gamma) * std::sqrt(static_cast<double>(hill.exceedances)) < 2;
}

double largest_allowed(int64_t n, const ThresholdOptions& options) {
  const auto count = static_cast<double>(n);
  return std::max(options.largest_share * count, std::min(count / 3, 150.0));
}

/// Everything that is asked of a k: 20, 23, ... up to the largest allowed. Of clumps as many, or half of the largest
/// allowed, and up to kMostClumps.
std::vector<int64_t> candidates(int64_t n, const ThresholdOptions& options) {
  constexpr double kMostClumps = 150;
  const auto count = static_cast<double>(n), smallest = static_cast<double>(options.smallest);
  double least = smallest, largest = largest_allowed(n, options);
  if (options.clumps > 1) {
    largest = std::min(largest, kMostClumps * options.clumps);
    least = std::max(smallest, std::min(smallest * options.clumps, largest / 2));
  }
  std::vector<int64_t> ks;
  for (double k = smallest; k <= largest && k < count; k = std::max(k + 1, std::floor(k * options.growth)))
    if (k >= least) ks.push_back(static_cast<int64_t>(k));
  return ks;
}

void check(const ThresholdOptions& o) {
  if (!(o.level > 0 && o.level < 1)) throw InputError("[tail.level] expected a level in (0, 1), got {}", o.level);
  if (!(o.largest_share > 0 && o.largest_share < 1))
    throw InputError("[tail.largest_share] expected a share in (0, 1), got {}", o.largest_share);
  if (o.smallest < 5) throw InputError("[tail.smallest] expected at least 5 exceedances, got {}", o.smallest);
  if (!(o.growth > 1)) throw InputError("[tail.growth] expected a ratio above 1, got {}", o.growth);
  if (!(o.p_value >= 0 && o.p_value < 1))
    throw InputError("[tail.p_value] expected a probability in [0, 1), got {}", o.p_value);
  if (!(o.clumps >= 1)) throw InputError("[tail.clumps] expected at least 1, got {}", o.clumps);
  if (!(o.allowance >= 0)) throw InputError("[tail.allowance] expected at least 0, got {}", o.allowance);
}

}  // namespace

double gpd_distance(std::span<const double> sorted, const GpdFit& fit) {
  const auto k = static_cast<double>(fit.exceedances);
  double below = 0, logs = 0, rank = 1;
  for (const double x : sorted.last(static_cast<size_t>(fit.exceedances))) {
    const double s = std::max(fit.survival(x - fit.threshold), 1e-300);
    below += 1 - s;
    logs += (2 - (2 * rank++ - 1) / k) * std::log(s);
  }
  return k / 2 - 2 * below - logs;
}

double gpd_p_value(std::span<const double> sorted, const GpdFit& fit, double clumps) {
  if (std::isnan(fit.shape)) return 0;
  const double distance = gpd_distance(sorted, fit) / clumps;
  return std::clamp(std::exp(-rate_of_statistic(fit.shape) * (distance - 0.093)), 0.0, 1.0);
}

double TailChoice::index() const { return gamma > 0 ? 1 / gamma : kLightest; }

int64_t most_exceedances(int64_t n, const ThresholdOptions& options) {
  return static_cast<int64_t>(std::max(largest_allowed(n, options), static_cast<double>(options.smallest)));
}

TailChoice choose_threshold(std::span<const double> sorted, const ThresholdOptions& options) {
  check(options);
  TailChoice choice;
  choice.n = static_cast<int64_t>(sorted.size());
  for (const int64_t k : candidates(choice.n, options)) {
    const GpdFit fit = fit_gpd(sorted, k);
    if (std::isnan(fit.shape)) continue;
    choice.path.push_back({k, fit.threshold, hill_estimate(sorted, k, options.level),
                           moment_estimate(sorted, k, options.level), fit.estimate(options.level),
                           gpd_p_value(sorted, fit, options.clumps)});
  }
  if (choice.path.empty()) {
    choice.explanation =
        fmt::format("{} values leave no tail of at least {} different values.", choice.n, options.smallest);
    return choice;
  }
  const auto passes = [&](const ThresholdPoint& p) { return p.p_value >= options.p_value; };
  const auto last = std::find_if(choice.path.rbegin(), choice.path.rend(), passes);
  choice.fits = last != choice.path.rend();
  const ThresholdPoint& point = choice.fits ? *last : choice.path.front();
  choice.k = point.k;
  choice.threshold = point.threshold;
  choice.p_value = point.p_value;
  choice.fit = fit_gpd(sorted, point.k);
  choice.hill = point.hill;
  choice.moment = point.moment;

  const bool with_moment = !std::isnan(point.moment.gamma);
  choice.sampling = gpd_profile_interval(sorted, choice.fit, options.level);
  if (with_moment) widen(choice.sampling, point.moment.gamma_interval);
  const double precision = 1 / std::pow(point.gpd.standard_error, 2),
               other = with_moment ? 1 / std::pow(point.moment.standard_error, 2) : 0;
  choice.gamma = (precision * point.gpd.gamma + (with_moment ? other * point.moment.gamma : 0)) / (precision + other);

  // The biases of the two differ, often in sign; what both share shrinks with k.
  const double wide = level_of(normal_quantile(0.5 + options.level / 2) + options.allowance);
  choice.gamma_interval = gpd_profile_interval(sorted, choice.fit, wide);
  if (with_moment) widen(choice.gamma_interval, moment_estimate(sorted, choice.k, wide).gamma_interval);
  const int64_t half = std::max(choice.k / 2, options.smallest);
  const TailEstimate moment = moment_estimate(sorted, half, options.level),
                     hill = hill_estimate(sorted, half, options.level);
  Interval inner = gpd_profile_interval(sorted, fit_gpd(sorted, half), options.level);
  widen(inner, moment.gamma_interval);
  choice.hill_agrees = inner.lower > 0 && agree(hill, moment);
  if (choice.hill_agrees) widen(inner, hill.gamma_interval);
  widen(choice.gamma_interval, inner);

  if (!choice.fits)
    choice.explanation =
        fmt::format("No generalised Pareto distribution fits even the {} largest of {} values (p = {:.2g}).", choice.k,
                    choice.n, choice.p_value);
  else if (last == choice.path.rbegin())
    choice.explanation = fmt::format(
        "A generalised Pareto distribution fits the {} largest of {} values (p = {:.2g}), the most that are examined.",
        choice.k, choice.n, choice.p_value);
  else
    choice.explanation = fmt::format(
        "A generalised Pareto distribution fits the {} largest of {} values (p = {:.2g}) but not the {} largest (p = "
        "{:.2g}).",
        choice.k, choice.n, choice.p_value, std::prev(last)->k, std::prev(last)->p_value);
  return choice;
}

}  // namespace htfm
