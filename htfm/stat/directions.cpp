#include "htfm/stat/directions.h"

#include <cmath>

namespace htfm {

namespace {

// Roughly the 99 % quantile of the chi-squared law, by Wilson and Hilferty.
double chi_squared_99(double freedom) {
  const double v = 2 / (9 * freedom);
  return freedom * std::pow(1 - v + 2.3263 * std::sqrt(v), 3);
}

}  // namespace

bool evenly_spread(const std::vector<double>& u, int64_t dim) {
  const double d = static_cast<double>(dim), k = static_cast<double>(u.size()) / d;
  std::vector<double> mean(static_cast<size_t>(dim), 0.0), moments(static_cast<size_t>(dim * dim), 0.0);
  for (size_t row = 0; row < u.size(); row += static_cast<size_t>(dim))
    for (int64_t i = 0; i < dim; ++i) {
      mean[i] += u[row + i] / k;
      for (int64_t j = 0; j < dim; ++j) moments[i * dim + j] += u[row + i] * u[row + j] / k;
    }
  double length = 0, trace = 0, fourth = 0;
  for (const double c : u) fourth += c * c * c * c / k;
  for (const double m : mean) length += m * m;
  for (const double m : moments) trace += m * m;
  if (k * d * length > chi_squared_99(d)) return false;
  if (dim == 1) return true;
  if (k * d * (d + 2) / 2 * (trace - 1 / d) > chi_squared_99((d - 1) * (d + 2) / 2)) return false;
  const double mean_fourth = 3 / (d + 2), square = (105 + 9 * (d - 1)) / ((d + 2) * (d + 4) * (d + 6));
  return std::abs(fourth - mean_fourth) <= 2.5758 * std::sqrt((square - mean_fourth * mean_fourth) / k);
}

}  // namespace htfm
