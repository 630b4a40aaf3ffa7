#include "htfm/clock/score_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "htfm/clock/kanter_nodes.h"
#include "htfm/stat/estimators.h"

namespace htfm {

namespace {

using LogDensity = std::function<double(double)>;

constexpr int kCells = 4096;
constexpr double kDepth = 110;        // how far below its mode the log density is followed
constexpr double kLeastTail = 1e-40;  // tail probabilities of the outermost knots, at the least

// The mode of a concave function, by golden section after a bracket has grown around it.
double mode_of(const LogDensity& f) {
  double low = -1, high = 1;
  while (f(low) > f(low + 0.25 * (high - low))) low -= 2 * (high - low);
  while (f(high) > f(high - 0.25 * (high - low))) high += 2 * (high - low);
  const double share = (std::sqrt(5.0) - 1) / 2;
  for (int i = 0; i < 200 && high - low > 1e-9 * (1 + std::abs(low)); ++i) {
    const double a = high - share * (high - low), b = low + share * (high - low);
    (f(a) < f(b) ? low : high) = f(a) < f(b) ? a : b;
  }
  return (low + high) / 2;
}

// Where the function has fallen by kDepth, on the side of `sign`.
double far_end(const LogDensity& f, double mode, double sign) {
  const double bottom = f(mode) - kDepth;
  double near = 0, far = 1;
  while (f(mode + sign * far) > bottom) near = far, far *= 2;
  for (int i = 0; i < 40; ++i) {
    const double middle = (near + far) / 2;
    (f(mode + sign * middle) > bottom ? near : far) = middle;
  }
  return mode + sign * far;
}

// Gauss and Legendre's rule with five points.
double integral(const LogDensity& f, double top, double from, double width) {
  static constexpr std::array<double, 3> kPlace{0, 0.5384693101056831, 0.9061798459386640};
  static constexpr std::array<double, 3> kWeight{0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
  const double middle = from + width / 2;
  double sum = kWeight[0] * std::exp(f(middle) - top);
  for (size_t k = 1; k < 3; ++k)
    for (const double sign : {-1.0, 1.0}) sum += kWeight[k] * std::exp(f(middle + sign * kPlace[k] * width / 2) - top);
  return sum * width / 2;
}

}  // namespace

ScoreTable::ScoreTable(const LogDensity& f) {
  const double mode = mode_of(f), top = f(mode), begin = far_end(f, mode, -1), end = far_end(f, mode, 1),
               width = (end - begin) / kCells;
  std::vector<double> below(kCells + 1, 0.0), above(kCells + 1, 0.0), cell(kCells);
  for (int i = 0; i < kCells; ++i) cell[i] = integral(f, top, begin + i * width, width);
  for (int i = 0; i < kCells; ++i) below[i + 1] = below[i] + cell[i];
  for (int i = kCells; i > 0; --i) above[i - 1] = above[i] + cell[i - 1];
  const double total = below[kCells];
  for (int i = 0; i <= kCells; ++i) {
    const double at = begin + i * width;
    add(at, below[i] / total, above[i] / total, std::exp(f(at) - top) / total);
  }
}

void ScoreTable::add(double value, double below, double above, double density) {
  const double tail = std::min(below, above);
  if (!(tail > kLeastTail && density > 0)) return;
  const double score = below < above ? normal_quantile(tail) : -normal_quantile(tail);
  if (!score_.empty() && !(score > score_.back())) return;
  score_.push_back(score), value_.push_back(value);
  slope_.push_back(std::exp(-score * score / 2) / (std::sqrt(2 * M_PI) * density));
}

// With y = v^(-rho/(1-rho)) P(V <= v) is the mean of exp(-a(U) y).
ScoreTable ScoreTable::positive_stable(double rho) {
  const double rest = 1 - rho;
  const auto [a, weight] = KanterNodes(rho, 0.05, 110);
  // Knots from small values to large ones: y falls, in steps that grow where the law is a power.
  ScoreTable out;
  const double least = rest * std::pow(rho, rho / rest), last = -95 / rest;
  double step = 0.02;
  for (double log_y = std::log(95 / least); log_y > last; log_y -= step) {
    const double y = std::exp(log_y);
    double below = 0, above = 0, density = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      const double e = std::exp(-a[k] * y);
      below += weight[k] * e, above -= weight[k] * std::expm1(-a[k] * y);
      if (e > 0) density += weight[k] * a[k] * y * e;
    }
    out.add(-rest / rho * log_y, below, above, density * rho / rest);
    if (log_y < -2) step = std::min(step * 1.02, 0.05 / rest);
  }
  return out;
}

double ScoreTable::log_value(double score) const {
  if (score <= score_.front()) return value_.front() + (score - score_.front()) * slope_.front();
  if (score >= score_.back()) return value_.back() + (score - score_.back()) * slope_.back();
  const auto k = static_cast<size_t>(std::upper_bound(score_.begin(), score_.end(), score) - score_.begin());
  const double h = score_[k] - score_[k - 1], t = (score - score_[k - 1]) / h, s = 1 - t;
  return s * s * ((1 + 2 * t) * value_[k - 1] + t * h * slope_[k - 1]) +
         t * t * ((1 + 2 * s) * value_[k] - s * h * slope_[k]);
}

}  // namespace htfm
