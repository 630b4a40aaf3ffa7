#include "htfm/stat/scatter.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"

namespace htfm {

namespace {

constexpr int64_t kMostScatterRows = 20000;  // more rows hardly change a scatter matrix

// Squared Mahalanobis distances of centred rows.
at::Tensor squared_distances(const at::Tensor& shape, const at::Tensor& x) {
  const at::Tensor y = at::linalg_solve_triangular(at::linalg_cholesky(shape), x.t().contiguous(), /*upper=*/false);
  return y.mul(y).sum(0);
}

// Some columns at a time: rows may be whole images, of which a sorted copy would be large and slow, or a mapped file
// that is larger than memory, which is gone through a few times only.
template <class T>
at::Tensor median_of(const at::Tensor& x) {
  constexpr int64_t kTimes = 16, kLine = 16;  // columns of a line of memory belong together
  const int64_t n = x.size(0), dim = x.size(1), width = (dim + kTimes * kLine - 1) / (kTimes * kLine) * kLine;
  at::Tensor out = at::empty({dim}, at::kDouble);
  const T* from = x.const_data_ptr<T>();
  double* to = out.mutable_data_ptr<double>();
  std::vector<T> columns(static_cast<size_t>(n * std::min(width, dim)));
  for (int64_t first = 0; first < dim; first += width) {
    const int64_t count = std::min(width, dim - first);
    parallel_ranges(n, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t k = 0; k < count; ++k) columns[k * n + i] = from[i * dim + first + k];
    });
    parallel_for(count, [&](int64_t k) {
      T* own = columns.data() + k * n;
      std::nth_element(own, own + n / 2, own + n);
      to[first + k] = static_cast<double>(own[n / 2]);
    });
  }
  return out;
}

at::Tensor median(const at::Tensor& x) {
  if (x.dim() == 1) return median(x.unsqueeze(1)).squeeze(0);
  const at::Tensor dense = x.contiguous();
  return x.scalar_type() == at::kFloat ? median_of<float>(dense) : median_of<double>(dense.to(at::kDouble));
}

}  // namespace

double chi_median(int64_t dim) {
  const double d = static_cast<double>(dim);
  return std::sqrt(d) * std::pow(1 - 2 / (9 * d), 1.5);
}

at::Tensor median_centre(const at::Tensor& rows) {
  if (rows.size(0) < 1) throw InputError("[data] expected at least one row, got none");
  return median(rows);
}

at::Tensor distances(const at::Tensor& rows, const at::Tensor& centre) {
  constexpr int64_t kValues = 1 << 22;  // in double at a time
  const int64_t n = rows.size(0), part = std::max<int64_t>(1, kValues / std::max<int64_t>(1, rows.size(1)));
  at::Tensor out = at::empty({n}, at::kDouble);
  for (int64_t first = 0; first < n; first += part) {
    const int64_t count = std::min(part, n - first);
    out.narrow(0, first, count).copy_(rows.narrow(0, first, count).to(at::kDouble).sub(centre).square().sum(1));
  }
  // Correctly rounded; the vector library's root depends on the processor.
  double* r = out.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) r[i] = std::sqrt(r[i]);
  return out;
}

at::Tensor robust_scatter(const at::Tensor& rows, const at::Tensor& centre) {
  const int64_t dim = rows.size(1), all = rows.size(0), n = std::min(all, kMostScatterRows);
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
