#include "htfm/stat/mixing_law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "htfm/stat/order.h"

namespace htfm {
namespace {

/// Density of log chi^2_dim.
struct LogChiSquare {
  double half, norm;
  explicit LogChiSquare(int64_t dim)
      : half(0.5 * static_cast<double>(dim)), norm(-half * std::log(2.0) - std::lgamma(half)) {}
  double operator()(double s) const { return std::exp(half * s - 0.5 * std::exp(s) + norm); }
  /// Its standard deviation, sqrt(trigamma(dim / 2)).
  double deviation() const {
    double x = half, sum = 0;
    for (; x < 10; ++x) sum += 1 / (x * x);
    const double z = 1 / (x * x);
    return std::sqrt(sum + 1 / x + z / 2 + z / x * (1.0 / 6 - z / 30));
  }
  /// log of (E chi^(2a))^(1/a): P(V chi^2 > x) is near P(V > x / this) for a Pareto tail of exponent a (Breiman).
  double log_breiman(double a) const { return std::log(2.0) + (std::lgamma(half + a) - std::lgamma(half)) / a; }
};

/// Where the fitted law of the radius is a power law to within a tenth of its local index, with at least 30 values
/// beyond.
double join_radius(std::span<const double> sorted, const TailChoice& tail) {
  const GpdFit& f = tail.fit;
  double join = f.threshold;
  if (f.shape > 0) join += std::max(0.0, (10 * std::abs(f.shape * f.threshold - f.scale) - f.scale) / f.shape);
  const size_t n = sorted.size(), least = std::min<size_t>(30, static_cast<size_t>(tail.k));
  return std::min(join, sorted[n - least]);
}

/// The weights of the cells, the last one being the tail's, and the densities of the observations given each.
class Mixture {
 public:
  std::vector<double> seen;    // weight of each bin of observations, summing to 1
  std::vector<double> kernel;  // density in bin b given cell j, at b - j + cells - 1
  std::vector<double> far;     // density in bin b given the tail; empty where there is none
  int64_t cells = 0;

  /// One step of expectation and maximisation, then a little smoothing over neighbours; returns the log-likelihood
  /// before it.
  double step(std::vector<double>& weight, double smoothing) {
    const auto bins = static_cast<int64_t>(seen.size());
    next_.assign(weight.size(), 0.0);
    double value = 0;
    for (int64_t b = 0; b < bins; ++b) {
      const double mass = seen[static_cast<size_t>(b)];
      if (mass == 0) continue;
      const auto lo = static_cast<size_t>(std::max<int64_t>(0, b + cells - 1 - last_)),
                 hi = static_cast<size_t>(std::min(cells, b + cells - first_));
      const double* k = kernel.data() + b + cells - 1;
      double density = far.empty() ? 0 : weight.back() * far[static_cast<size_t>(b)];
      for (size_t j = lo; j < hi; ++j) density += weight[j] * k[-static_cast<int64_t>(j)];
      if (!(density > 0)) continue;
      value += mass * std::log(density);
      const double ratio = mass / density;
      for (size_t j = lo; j < hi; ++j) next_[j] += ratio * k[-static_cast<int64_t>(j)];
      if (!far.empty()) next_.back() += ratio * far[static_cast<size_t>(b)];
    }
    for (size_t j = 0; j < weight.size(); ++j) weight[j] *= next_[j];
    if (smoothing > 0) smooth(weight, smoothing);
    return value;
  }

  /// Steps until the log-likelihood (of all observations, n of them) hardly grows; every third step goes as far as the
  /// last two suggest (Varadhan and Roland's squared extrapolation). Returns the mean log-likelihood.
  double climb(std::vector<double>& weight, double smoothing, double n, int64_t steps) {
    find_support();
    double value = 0, before = -std::numeric_limits<double>::infinity();
    for (int64_t round = 0; round < steps; round += 3) {
      std::vector<double> zero = weight;
      value = step(weight, smoothing);
      if (round > 0 && n * (value - before) < 1e-3 && value >= before) break;
      before = value;
      std::vector<double> one = weight;
      step(weight, smoothing);
      double r = 0, v = 0;
      for (size_t j = 0; j < weight.size(); ++j) {
        r += std::pow(one[j] - zero[j], 2);
        v += std::pow(weight[j] - 2 * one[j] + zero[j], 2);
      }
      const double length = v > 0 ? std::max(1.0, std::sqrt(r / v)) : 1;
      if (length == 1) continue;
      std::vector<double> ahead(weight.size());
      double sum = 0;
      for (size_t j = 0; j < weight.size(); ++j) {
        const double x =
            zero[j] + 2 * length * (one[j] - zero[j]) + length * length * (weight[j] - 2 * one[j] + zero[j]);
        sum += ahead[j] = std::max(x, 0.1 * weight[j]);
      }
      for (double& x : ahead) x /= sum;
      std::vector<double> tried = ahead;
      if (step(tried, smoothing) >= value) weight = tried;
    }
    return value;
  }

 private:
  void find_support() {
    const double least = 1e-18 * *std::max_element(kernel.begin(), kernel.end());
    const auto big = [&](double k) { return k > least; };
    first_ = std::find_if(kernel.begin(), kernel.end(), big) - kernel.begin();
    last_ = kernel.rend() - std::find_if(kernel.rbegin(), kernel.rend(), big) - 1;
  }

  /// Mass moves to both neighbours, `deviation` cells in the root mean square; the ends reflect it.
  void smooth(std::vector<double>& w, double deviation) {
    const double share = std::min(0.25, deviation * deviation / 2);
    const auto n = static_cast<size_t>(cells);
    double left = w[0];
    for (size_t j = 0; j < n; ++j) {
      const double here = w[j], right = j + 1 < n ? w[j + 1] : here;
      w[j] += share * (left - 2 * here + right);
      left = here;
    }
  }

  std::vector<double> next_;
  int64_t first_ = 0, last_ = 0;  // of the kernel, where it is not negligible
};

}  // namespace

MixingLaw fit_mixing_law(std::span<const double> sorted, int64_t dim, const TailChoice& tail, bool heavy,
                         const MixingOptions& options) {
  const auto first = std::upper_bound(sorted.begin(), sorted.end(), 0.0);
  const auto positive = sorted.subspan(static_cast<size_t>(first - sorted.begin()));
  if (positive.size() < 10)
    throw InputError("[clock.family] expected at least 10 rows away from their centre to fit a clock to, got {}",
                     positive.size());
  const LogChiSquare noise(dim);
  const double deviation = noise.deviation(), step = deviation / 8;
  const auto log_square = [](double r) { return 2 * std::log(r); };
  heavy = heavy && tail.k > 0 && tail.gamma > 0;
  const double exponent = heavy ? 0.5 / tail.gamma : 0;
  MixingLaw out;
  if (heavy) out.join = join_radius(positive, tail);

  // Cells of log V. The lowest radii say more about the normal than about V.
  const double lowest = log_square(quantile_of_sorted(positive, 0.002));
  const double end = heavy ? log_square(out.join) - noise.log_breiman(exponent)
                           : log_square(positive.back()) - std::log(static_cast<double>(dim)) + deviation;
  const double begin = std::min(
      log_square(quantile_of_sorted(positive, 0.02)) - std::log(static_cast<double>(dim)) - deviation, end - 4 * step);
  const auto cells = static_cast<int64_t>(std::ceil((end - begin) / step));
  const double start = end - static_cast<double>(cells) * step;  // of the first cell

  // Observations as weights on the points start + (b + 0.5 - shift) step.
  const auto shift = static_cast<int64_t>(std::max(0.0, std::ceil((start - lowest) / step))) + 1;
  const auto bins = shift + static_cast<int64_t>(std::ceil((log_square(positive.back()) - start) / step)) + 2;
  Mixture mixture;
  mixture.cells = cells;
  std::vector<double>& seen = mixture.seen;
  seen.assign(static_cast<size_t>(bins), 0.0);
  double total = 0;
  for (const double r : positive) {
    const double place = (log_square(r) - start) / step - 0.5 + static_cast<double>(shift);
    if (log_square(r) < lowest || place < 0) continue;
    const auto b = static_cast<int64_t>(place);
    const double share = place - static_cast<double>(b);
    seen[static_cast<size_t>(b)] += 1 - share;
    seen[static_cast<size_t>(std::min(b + 1, bins - 1))] += share;
    ++total;
  }
  for (double& mass : seen) mass /= total;

  // Density of an observation in bin b given cell j: depends on b - j alone. Averaged over the cell.
  const int64_t span = bins + cells;
  mixture.kernel.resize(static_cast<size_t>(span));
  for (int64_t i = 0; i < span; ++i) {
    const double s = static_cast<double>(i - cells + 1 - shift) * step;
    double sum = 0;
    for (const double part : {-0.375, -0.125, 0.125, 0.375}) sum += noise(s + part * step) / 4;
    mixture.kernel[static_cast<size_t>(i)] = sum;
  }
  if (heavy) {
    mixture.far.assign(static_cast<size_t>(bins), 0.0);
    for (int64_t b = 0; b < bins; ++b) {
      const double y = static_cast<double>(b - shift - cells) * step + 0.5 * step;  // relative to the join
      for (double t = 0.125 * step; t < y + 4 * deviation + 40 * deviation / noise.half && t < 40 / exponent;
           t += 0.25 * step)
        mixture.far[static_cast<size_t>(b)] += exponent * std::exp(-exponent * t) * noise(y - t) * 0.25 * step;
    }
  }

  // From smooth to rough, each starting where the last one ended; the roughest sets the mark.
  const std::vector<double> even(static_cast<size_t>(cells) + (heavy ? 1 : 0), 1.0 / static_cast<double>(cells + 1));
  std::vector<std::pair<double, std::vector<double>>> fits;
  std::vector<double> levels, weight = even;
  for (const double smoothing : {0.3, 0.1, 0.03, 0.01, 0.003, 0.0}) {
    levels.push_back(mixture.climb(weight, smoothing * deviation / step, total, options.steps));
    fits.emplace_back(smoothing, weight);
  }
  const double best = *std::max_element(levels.begin(), levels.end());
  size_t pick = 0;
  while (total * (best - levels[pick]) > options.slack) ++pick;
  out.log_likelihood = levels[pick];
  std::tie(out.smoothing, weight) = fits[pick];

  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  std::vector<double> survival{1.0}, log_value{};
  double left = 1;
  for (int64_t j = 0; j < cells; ++j) {
    const double w = weight[static_cast<size_t>(j)] / sum, edge = start + static_cast<double>(j) * step;
    if (w < 1e-12) continue;
    if (log_value.empty()) log_value.push_back(edge);
    left -= w;
    survival.push_back(left);
    log_value.push_back(edge + step);
  }
  survival.back() = heavy ? weight.back() / sum : 0;
  out.law = QuantileTable(std::move(survival), std::move(log_value), exponent);
  return out;
}

}  // namespace htfm
