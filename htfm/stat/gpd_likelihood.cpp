#include "htfm/stat/gpd_likelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace htfm::gpd {

namespace {
constexpr size_t kMany = 4096;       // excesses; below, the sums keep the bits that they always had
constexpr size_t kVeryMany = 16384;  // from here on by blocks

// In a block every factor 1 + theta y, theta > -1, is the same within this share.
constexpr double kBlockWidth = 1.0 / 64;

std::vector<ExcessBlock> blocks_of(const std::vector<double>& y) {
  std::vector<ExcessBlock> out;
  for (size_t first = 0; first < y.size();) {
    const double width = kBlockWidth * y[first];
    size_t last = first + 1;
    while (last < y.size() && y[last] - y[first] <= std::min(width, kBlockWidth * (1 - y[last]))) ++last;
    ExcessBlock b;
    b.count = static_cast<double>(last - first);
    for (size_t i = first; i < last; ++i) b.mean += y[i] / b.count;
    for (size_t i = first; i < last; ++i) b.variance += (y[i] - b.mean) * (y[i] - b.mean) / b.count;
    out.push_back(b);
    first = last;
  }
  return out;
}

// The sum of log(1 + theta y) over each block to second order about its mean.
double sum_of_logs(const std::vector<ExcessBlock>& blocks, double theta) {
  double sum = 0;
  for (const ExcessBlock& b : blocks) {
    const double slope = theta / (1 + theta * b.mean);
    sum += b.count * (std::log1p(theta * b.mean) - 0.5 * slope * slope * b.variance);
  }
  return sum;
}

}  // namespace

Excesses::Excesses(std::span<const double> sorted, int64_t k) {
  const auto count = static_cast<size_t>(k);
  const double threshold = sorted[sorted.size() - count - 1];
  unit = sorted.back() - threshold;
  y.reserve(count);
  for (const double x : sorted.last(count)) {
    y.push_back((x - threshold) / unit);
    mean += y.back();
  }
  mean /= static_cast<double>(k);
  if (count < kVeryMany) return;
  blocks = blocks_of(y);
  if (4 * blocks.size() > count) blocks.clear();  // too far apart to save anything
}

double Excesses::mean_log_over(double theta) const {
  if (theta == 0) return mean;
  if (!blocks.empty()) return sum_of_logs(blocks, theta) / (count() * theta);
  double sum = 0;
  if (std::abs(theta) < 1e-3) {
    for (const double v : y) sum += std::log1p(theta * v);
  } else {
    size_t i = 0;
    // Of many, one logarithm for 64 factors, eight products side by side; each factor lies between e^-10 and e^10.
    if (y.size() >= kMany && std::abs(std::log1p(theta)) <= 10) {
      for (; i + 64 <= y.size(); i += 64) {
        double product[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        for (size_t j = i; j < i + 64; j += 8)
          for (size_t lane = 0; lane < 8; ++lane) product[lane] *= 1 + theta * y[j + lane];
        const double left = product[0] * product[1] * (product[2] * product[3]),
                     right = product[4] * product[5] * (product[6] * product[7]);
        sum += std::log(left * right);
      }
    }
    // One logarithm for eight factors; each is at most 1 + theta <= e^80.
    for (; i + 8 <= y.size(); i += 8) {
      double product = 1;
      for (size_t j = i; j < i + 8; ++j) product *= 1 + theta * y[j];
      sum += std::log(product);
    }
    for (; i < y.size(); ++i) sum += std::log1p(theta * y[i]);
  }
  return sum / (count() * theta);
}

double Excesses::log_likelihood(double shape, double log_scale) const {
  if (shape == 0) return -log_scale - mean * std::exp(-log_scale);
  const double theta = shape * std::exp(-log_scale);
  if (!(theta > -1)) return -std::numeric_limits<double>::infinity();
  return -log_scale - (1 + 1 / shape) * theta * mean_log_over(std::min(theta, 1e34));
}

double Excesses::best_for_shape(double shape, double& log_scale) const {
  // theta > -1 bounds the scale of a law with an end point from below; above that the likelihood has one maximum.
  const double lowest = shape < 0 ? std::log(-shape) + 1e-12 : log_scale - 40;
  double width = 0.5, a = std::max(lowest, log_scale - width), b = std::max(log_scale, a) + width;
  const auto f = [&](double x) { return log_likelihood(shape, x); };
  while (f(b) > f(b - 1e-3) && width < 80) b += width *= 2;
  width = 0.5;
  while (a > lowest && f(a) > f(a + 1e-3)) a = std::max(lowest, a - (width *= 2));
  log_scale = maximise(f, a, b, 1e-7);
  return f(log_scale);
}

double maximise(const std::function<double(double)>& f, double a, double b, double tolerance) {
  constexpr double golden = 0.3819660112501051;
  double x = a + golden * (b - a), w = x, v = x, fx = f(x), fw = fx, fv = fx, step = 0, before = 0;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (a + b), small = tolerance * (1 + std::abs(x));
    if (std::abs(x - middle) + 0.5 * (b - a) <= 2 * small) break;
    bool parabola = false;
    if (std::abs(before) > small) {
      const double r = (x - w) * (fx - fv), q0 = (x - v) * (fx - fw);
      double p = (x - v) * q0 - (x - w) * r, q = 2 * (q0 - r);
      if (q > 0) p = -p;
      q = std::abs(q);
      if (std::abs(p) < std::abs(0.5 * q * before) && p > q * (a - x) && p < q * (b - x)) {
        before = step;
        step = p / q;
        parabola = true;
      }
    }
    if (!parabola) {
      before = x < middle ? b - x : a - x;
      step = golden * before;
    }
    const double u = std::abs(step) >= small ? x + step : x + std::copysign(small, step), fu = f(u);
    if (fu >= fx) {
      (u < x ? b : a) = x;
      v = w, fv = fw, w = x, fw = fx, x = u, fx = fu;
    } else {
      (u < x ? a : b) = u;
      if (fu >= fw || w == x)
        v = w, fv = fw, w = u, fw = fu;
      else if (fu >= fv || v == x || v == w)
        v = u, fv = fu;
    }
  }
  return x;
}

double bisect(const std::function<double(double)>& f, double a, double b, double tolerance) {
  for (int i = 0; i < 200 && b - a > tolerance * (1 + std::abs(a)); ++i) {
    const double middle = 0.5 * (a + b);
    (f(middle) < 0 ? a : b) = middle;
  }
  return 0.5 * (a + b);
}

}  // namespace htfm::gpd
