#include "htfm/tail/tail_level.h"

#include <algorithm>
#include <cmath>

#include "htfm/stat/threshold.h"

namespace htfm {

namespace {

constexpr double kRejected = 6.6349;  // 99 % quantile of the chi-squared law with one degree of freedom
constexpr double kLargestLog = 30;    // -log of the least share that is told apart: beyond the end of a bounded tail

}  // namespace

TailLevel TailLevel::find(std::span<const double> sorted, double index) {
  TailLevel out;
  const TailChoice choice = choose_threshold(sorted);
  if (choice.k == 0 || !(choice.threshold > 0) || !(index > 0)) return out;
  if (std::abs(gpd_signed_deviance(sorted, choice.fit, 1 / index)) < kRejected) return out;
  out.from = choice.threshold, out.scale = choice.fit.scale, out.shape = choice.fit.shape;
  out.target = 1 / index, out.exceedances = choice.k;
  return out;
}

// With l = -log of the share of excesses that are larger, an excess of shape g is scale (exp(g l) - 1) / g.
double TailLevel::apply(double y) const {
  if (!(y > from)) return y;
  const double x = (y - from) / scale, g = shape * x;
  const double l = std::abs(g) < 1e-9 ? x : g <= -1 ? kLargestLog : std::log1p(g) / shape;
  return from + scale * std::expm1(target * std::min(l, kLargestLog)) / target;
}

double TailLevel::invert(double y) const {
  if (!(y > from)) return y;
  const double l = std::log1p(target * (y - from) / scale) / target, g = shape * l;
  return from + scale * (std::abs(g) < 1e-9 ? l : std::expm1(g) / shape);
}

std::array<double, TailLevel::kNumbers> TailLevel::numbers() const {
  return {from, scale, shape, target, static_cast<double>(exceedances)};
}

TailLevel TailLevel::from_numbers(const double* v) { return {v[0], v[1], v[2], v[3], static_cast<int64_t>(v[4])}; }

}  // namespace htfm
