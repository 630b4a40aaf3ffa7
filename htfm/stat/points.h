// A set of points as the scores see it: rows of doubles, checked once at the boundary.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Points row by row. Every coordinate is finite and below kLargestCoordinate, so that squared distances cannot
/// overflow.
struct Points {
  int64_t n = 0;
  int64_t dim = 0;
  std::vector<double> x;

  const double* row(int64_t i) const { return x.data() + i * dim; }
};

inline constexpr double kLargestCoordinate = 1e150;

/// Reads a float32 or float64 tensor, first axis points, other axes flattened. A bad coordinate is an InputError that
/// names `what` and its row.
Points to_points(const at::Tensor& tensor, std::string_view what);

/// The same values where they are, without a copy of float64 that lies row by row.
struct PointsView {
  at::Tensor rows;  ///< n x dim, float64
  int64_t n = 0, dim = 0;

  const double* row(int64_t i) const { return rows.const_data_ptr<double>() + i * dim; }
};
PointsView view_points(const at::Tensor& tensor, std::string_view what);

/// The same, but leaves out rows with a coordinate that is not finite (or beyond kLargestCoordinate) and counts them.
Points to_finite_points(const at::Tensor& tensor, std::string_view what, int64_t& left_out);

/// Throws an InputError unless both sets have the same dimension.
void check_same_dimension(const Points& real, const Points& fake, std::string_view where);

/// The first n points.
Points first_points(const Points& points, int64_t n);

/// Coordinate-wise median, the centre that tails are seen from.
std::vector<double> coordinate_medians(const Points& points);

/// |x - centre|, summed coordinate by coordinate.
template <class T>
double distance(const T* x, const std::vector<double>& centre) {
  double square = 0;
  for (size_t k = 0; k < centre.size(); ++k) square += (x[k] - centre[k]) * (x[k] - centre[k]);
  return std::sqrt(square);
}
/// Distances of the points from a centre.
std::vector<double> distances_from(const Points& points, const std::vector<double>& center);

}  // namespace htfm
