#include "htfm/tail/scatter.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "htfm/base/error.h"

namespace htfm {

namespace {

constexpr int64_t kMostRows = 20000;  // more rows hardly change a scatter matrix

// Squared Mahalanobis distances of centred rows.
at::Tensor squared_distances(const at::Tensor& shape, const at::Tensor& x) {
  const at::Tensor y = at::linalg_solve_triangular(at::linalg_cholesky(shape), x.t().contiguous(), /*upper=*/false);
  return y.mul(y).sum(0);
}

at::Tensor median(const at::Tensor& x) { return std::get<0>(x.sort(0)).select(0, x.size(0) / 2); }

}  // namespace

double chi_median(int64_t dim) {
  const double d = static_cast<double>(dim);
  return std::sqrt(d) * std::pow(1 - 2 / (9 * d), 1.5);
}

at::Tensor median_centre(const at::Tensor& rows) {
  if (rows.size(0) < 1) throw InputError("[data] expected at least one row, got none");
  return median(rows.to(at::kDouble));
}

at::Tensor robust_scatter(const at::Tensor& rows, const at::Tensor& centre) {
  const int64_t dim = rows.size(1), all = rows.size(0), n = std::min(all, kMostRows);
  at::Tensor x = rows.index_select(0, at::arange(n, at::kLong).mul(all).div(n, "floor")).to(at::kDouble).sub(centre);
  // In units of each column's median distance, so that the iteration starts near a correlation matrix.
  at::Tensor scale = median(x.abs());
  scale = at::where(scale.gt(0), scale, scale.new_ones({}));
  x = x.div(scale);
  const at::Tensor eye = at::eye(dim, at::kDouble);
  const double shrink = static_cast<double>(dim) / static_cast<double>(dim + n);
  at::Tensor shape = eye;
  for (int round = 0; round < 50; ++round) {
    const at::Tensor square = squared_distances(shape, x);
    // A point at the centre has no direction, and no weight.
    const at::Tensor weight = at::where(square.gt(0), square.reciprocal(), square.new_zeros({}));
    at::Tensor next = at::mm(x.mul(weight.unsqueeze(1)).t(), x);
    next = next.add(next.t()).mul(static_cast<double>(dim) / 2 / std::max(next.trace().item<double>(), 1e-300));
    next = next.mul(1 - shrink).add(eye, shrink);
    const double change = next.sub(shape).abs().max().item<double>();
    shape = next;
    if (change < 1e-6) break;
  }
  const double unit = median(squared_distances(shape, x).sqrt()).item<double>() / chi_median(dim);
  return shape.mul(unit > 0 ? unit * unit : 1).mul(scale.unsqueeze(0)).mul(scale.unsqueeze(1));
}

}  // namespace htfm
