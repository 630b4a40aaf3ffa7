#include "htfm/path/precondition.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"

namespace htfm {

Scaling clock_scaling(const Coefficients& c, double sd, double s0) {
  // In units of the larger scale, so that a huge clock does not overflow when squared.
  const double unit = std::max(sd, s0), d = sd / unit, s = s0 / unit;
  const double variance = c.alpha * c.alpha * d * d + c.beta * c.beta * s * s, deviation = std::sqrt(variance);
  return {(c.alpha * c.dalpha * d * d + c.beta * c.dbeta * s * s) / variance, 1 / (unit * deviation),
          unit * d * s * std::abs(c.dalpha * c.beta - c.alpha * c.dbeta) / deviation};
}

double robust_scale(std::span<const float> rows, int64_t dim) {
  const auto n = static_cast<int64_t>(rows.size()) / dim;
  if (n < 1) throw InputError("[data] expected at least one row, got none");
  const auto median = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  std::vector<double> centre(static_cast<size_t>(dim)), column(static_cast<size_t>(n));
  for (int64_t k = 0; k < dim; ++k) {
    for (int64_t i = 0; i < n; ++i) column[i] = rows[i * dim + k];
    centre[k] = median(column);
  }
  for (int64_t i = 0; i < n; ++i) {
    double square = 0;
    for (int64_t k = 0; k < dim; ++k) square += (rows[i * dim + k] - centre[k]) * (rows[i * dim + k] - centre[k]);
    column[i] = std::sqrt(square);
  }
  // Median of a chi law with dim degrees of freedom, by Wilson and Hilferty.
  const double d = static_cast<double>(dim), normal = std::sqrt(d) * std::pow(1 - 2 / (9 * d), 1.5);
  const double scale = median(column) / normal;
  return scale > 0 ? scale : 1;
}

}  // namespace htfm
