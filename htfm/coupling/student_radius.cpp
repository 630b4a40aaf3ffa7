#include "htfm/coupling/student_radius.h"

#include <algorithm>
#include <cmath>

namespace htfm {

namespace {

constexpr int64_t kPoints = 1 << 14;

// Linear interpolation of y at x between ascending (or descending) knots.
double between(const std::vector<double>& knots, const std::vector<double>& values, size_t k, double x) {
  const double share = std::clamp((x - knots[k - 1]) / (knots[k] - knots[k - 1]), 0.0, 1.0);
  return values[k - 1] + share * (values[k] - values[k - 1]);
}

}  // namespace

StudentRadius::StudentRadius(double nu, int64_t dim) : nu_(nu), dim_(dim) {
  // Below its mode the density of log r grows like r^dim, above it falls like r^-nu: both ends lie where less than
  // 1e-13 is left.
  const auto d = static_cast<double>(dim);
  const double middle = std::log(d) / 2, first = middle - 32 / d - 1,
               last = middle + 32 / nu + 3 + (nu < d ? std::log(d / nu) : 0);
  const double step = (last - first) / static_cast<double>(kPoints - 1);
  std::vector<double> density(static_cast<size_t>(kPoints));
  double top = -INFINITY;
  for (int64_t i = 0; i < kPoints; ++i) {
    const double l = first + step * static_cast<double>(i);
    log_radius_.push_back(l);
    density[i] = d * l - (nu + d) / 2 * std::log1p(std::exp(2 * l) / nu);
    top = std::max(top, density[i]);
  }
  for (double& v : density) v = std::exp(v - top);
  // Trapezoids from both ends, so that neither tail is a difference of numbers near 1; what lies beyond the ends is
  // that of a pure power.
  log_below_.resize(density.size());
  log_above_.resize(density.size());
  double below = density.front() / d / step, above = density.back() / nu / step;
  for (size_t i = 0; i < density.size(); ++i) {
    if (i > 0) below += (density[i - 1] + density[i]) / 2;
    log_below_[i] = below;
  }
  for (size_t i = density.size(); i-- > 0;) {
    if (i + 1 < density.size()) above += (density[i + 1] + density[i]) / 2;
    log_above_[i] = above;
  }
  const double all = log_below_.back() + density.back() / nu / step;
  for (double& v : log_below_) v = std::log(v / all);
  for (double& v : log_above_) v = std::log(v / all);
}

double StudentRadius::quantile(double u) const {
  if (u < 0.5) {
    const double x = std::log(u);
    const auto k = std::clamp<int64_t>(std::lower_bound(log_below_.begin(), log_below_.end(), x) - log_below_.begin(),
                                       1, kPoints - 1);
    return std::exp(between(log_below_, log_radius_, static_cast<size_t>(k), x));
  }
  const double x = std::log1p(-u);
  const auto k = std::clamp<int64_t>(
      std::lower_bound(log_above_.begin(), log_above_.end(), x, std::greater<>()) - log_above_.begin(), 1, kPoints - 1);
  return std::exp(between(log_above_, log_radius_, static_cast<size_t>(k), x));
}

double StudentRadius::survival(double r) const {
  const double l = std::log(r);
  const auto k = std::clamp<int64_t>(std::lower_bound(log_radius_.begin(), log_radius_.end(), l) - log_radius_.begin(),
                                     1, kPoints - 1);
  return std::exp(between(log_radius_, log_above_, static_cast<size_t>(k), l));
}

std::vector<double> StudentRadius::draw_slopes(Key key, const std::vector<double>& radius) const {
  std::vector<double> v(radius.size());
  fill_log_gamma_draw(key, (nu_ + static_cast<double>(dim_)) / 2, 0, static_cast<int64_t>(v.size()), v.data());
  for (size_t i = 0; i < v.size(); ++i) v[i] = (nu_ + radius[i] * radius[i]) / 2 / std::exp(v[i]);
  return v;
}

}  // namespace htfm
