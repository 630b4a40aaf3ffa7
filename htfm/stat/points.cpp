#include "htfm/stat/points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"

namespace htfm {
namespace {

PointsView view_rows(const at::Tensor& tensor, std::string_view what) {
  if (!tensor.defined() || tensor.dim() < 1) throw InputError("[{}] expected an array of points, got a scalar", what);
  if (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kDouble)
    throw InputError("[{}] expected float32 or float64, got {}", what, c10::toString(tensor.scalar_type()));
  if (tensor.numel() == 0)
    throw InputError("[{}] expected at least one point with one coordinate, got an empty array", what);
  const at::Tensor rows = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  return {rows, rows.size(0), rows.numel() / rows.size(0)};
}

Points copy_rows(const PointsView& view) {
  return {view.n, view.dim, std::vector<double>(view.row(0), view.row(view.n))};
}

// The first coordinate of a row that cannot be used; dim where all can.
int64_t first_unusable(const double* row, int64_t dim) {
  for (int64_t j = 0; j < dim; ++j)
    if (!(std::abs(row[j]) <= kLargestCoordinate)) return j;
  return dim;
}

bool usable(const double* row, int64_t dim) { return first_unusable(row, dim) == dim; }

}  // namespace

PointsView view_points(const at::Tensor& tensor, std::string_view what) {
  PointsView points = view_rows(tensor, what);
  for (int64_t i = 0; i < points.n; ++i) {
    const int64_t j = first_unusable(points.row(i), points.dim);
    if (j < points.dim)
      throw InputError("[{}] row {}, column {} (counted from 1): expected a number of at most {} in magnitude, got {}",
                       what, i + 1, j + 1, kLargestCoordinate, points.row(i)[j]);
  }
  return points;
}

Points to_points(const at::Tensor& tensor, std::string_view what) { return copy_rows(view_points(tensor, what)); }

Points to_finite_points(const at::Tensor& tensor, std::string_view what, int64_t& left_out) {
  Points points = copy_rows(view_rows(tensor, what));
  int64_t kept = 0;
  for (int64_t i = 0; i < points.n; ++i) {
    if (!usable(points.row(i), points.dim)) continue;
    if (kept < i) std::copy_n(points.row(i), points.dim, points.x.data() + kept * points.dim);
    ++kept;
  }
  left_out = points.n - kept;
  points.n = kept;
  points.x.resize(static_cast<size_t>(kept * points.dim));
  return points;
}

void check_same_dimension(const Points& real, const Points& fake, std::string_view where) {
  if (real.dim != fake.dim)
    throw InputError("[{}] both sets need the same number of columns; real has {}, fake {}", where, real.dim, fake.dim);
}

Points first_points(const Points& points, int64_t n) {
  Points part;
  part.n = std::min(n, points.n);
  part.dim = points.dim;
  part.x.assign(points.x.begin(), points.x.begin() + part.n * part.dim);
  return part;
}

std::vector<double> coordinate_medians(const Points& points) {
  std::vector<double> center(static_cast<size_t>(points.dim));
  parallel_for(points.dim, [&](int64_t d) {
    std::vector<double> values(static_cast<size_t>(points.n));
    for (int64_t i = 0; i < points.n; ++i) values[static_cast<size_t>(i)] = points.row(i)[d];
    const auto upper = values.begin() + points.n / 2;
    std::nth_element(values.begin(), upper, values.end());
    center[static_cast<size_t>(d)] =
        points.n % 2 ? *upper : std::midpoint(*std::max_element(values.begin(), upper), *upper);
  });
  return center;
}

std::vector<double> distances_from(const Points& points, const std::vector<double>& center) {
  std::vector<double> out(static_cast<size_t>(points.n));
  for (int64_t i = 0; i < points.n; ++i) out[static_cast<size_t>(i)] = distance(points.row(i), center);
  return out;
}

}  // namespace htfm
