#include "htfm/metric/frechet.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_eigvalsh.h>
#include <ATen/ops/zeros.h>

#include <optional>

#include "htfm/base/error.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/metric/product.h"

namespace htfm {
namespace {

/// Dimensions in which both sets vary; in the others a b has nothing but zeros.
at::Tensor varying(const at::Tensor& a, const at::Tensor& b) {
  std::vector<int64_t> index;
  const at::Tensor da = a.diagonal().contiguous(), db = b.diagonal().contiguous();
  for (int64_t k = 0; k < a.size(0); ++k)
    if (da.const_data_ptr<double>()[k] > 0 && db.const_data_ptr<double>()[k] > 0) index.push_back(k);
  return at::from_blob(index.data(), {static_cast<int64_t>(index.size())}, at::kLong).clone();
}

at::Tensor restricted(const at::Tensor& s, const at::Tensor& index) {
  return index.size(0) == s.size(0) ? s : s.index_select(0, index).index_select(1, index);
}

// The eigenvalues of a b are those of the symmetric f' b f for any a = f f'.

/// l' b l with a = l l', where a is positive definite.
std::optional<at::Tensor> by_cholesky(const at::Tensor& a, const at::Tensor& b) {
  const SingleThreadGuard one;
  const auto [l, info] = at::linalg_cholesky_ex(a);
  if (info.item<int64_t>() != 0) return std::nullopt;
  return congruence(l, b);
}

/// f' b f with a = f f' of the given rank.
at::Tensor by_eigenvectors(const at::Tensor& a, const at::Tensor& b, int64_t rank) {
  const SingleThreadGuard one;
  const auto [values, vectors] = at::linalg_eigh(a);
  const int64_t first = a.size(0) - rank;
  const at::Tensor f = vectors.narrow(1, first, rank).mul(values.narrow(0, first, rank).clamp_min(0).sqrt());
  at::Tensor right = at::zeros({a.size(0), rank}, a.options()), out = at::zeros({rank, rank}, a.options());
  add_product(right, b, f);
  add_product(out, f.t(), right, Part::lower);
  return out;
}

}  // namespace

namespace {

constexpr int64_t kPanel = 1024;  // features that are added to the scatter at once

/// Rows a power of two apart fall on the same lines of the cache, so they get a little more room.
at::Tensor roomy_zeros(int64_t rows, int64_t columns) {
  return at::zeros({rows, columns + 8}, at::kDouble).narrow(1, 0, columns);
}

template <class T>
void check_finite(const T* x, int64_t n, int64_t dim, int64_t first, std::string_view what) {
  for (int64_t i = 0; i < n; ++i) {
    T sum = 0;  // of zeros, unless there is something else
    for (int64_t k = 0; k < dim; ++k) sum += x[i * dim + k] * 0;
    if (sum != 0 || std::isnan(sum))
      throw InputError("[{}] expected finite features, got nan or inf in row {} (counted from 1)", what, first + i + 1);
  }
}

}  // namespace

void MomentCollector::add(const at::Tensor& features, std::string_view what) {
  if (features.dim() != 2 || features.size(1) == 0)
    throw InputError("[{}] expected features n x d, got an array of {} dimensions", what, features.dim());
  const bool single = features.scalar_type() == at::kFloat;
  const at::Tensor x = features.detach().to(at::kCPU, single ? at::kFloat : at::kDouble).contiguous();
  const int64_t m = x.size(0), dim = x.size(1);
  if (n_ > 0 && dim != panel_.size(1))
    throw InputError("[{}] expected features of dimension {}, got {}", what, panel_.size(1), dim);
  if (single)
    check_finite(x.const_data_ptr<float>(), m, dim, n_, what);
  else
    check_finite(x.const_data_ptr<double>(), m, dim, n_, what);
  if (m > 0 && n_ == 0) panel_ = at::empty({kPanel, dim}, at::kDouble);
  for (int64_t i = 0; i < m;) {
    const int64_t held = n_ % kPanel, rows = std::min(kPanel - held, m - i);
    panel_.narrow(0, held, rows).copy_(x.narrow(0, i, rows));
    n_ += rows, i += rows;
    if (held + rows == kPanel) sums_.add(panel_);
  }
}

void MomentCollector::Sums::add(const at::Tensor& rows) {
  const int64_t m = rows.size(0), dim = rows.size(1);
  const double* x = rows.const_data_ptr<double>();
  if (!origin.defined()) {
    origin = at::zeros({dim}, at::kDouble), sum = at::zeros({dim}, at::kDouble), scatter = roomy_zeros(dim, dim);
    double* mean = origin.mutable_data_ptr<double>();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t k = 0; k < dim; ++k) mean[k] += x[i * dim + k];
    for (int64_t k = 0; k < dim; ++k) mean[k] /= static_cast<double>(m);
  }
  const at::Tensor centred = roomy_zeros(m, dim);
  const double* mean = origin.const_data_ptr<double>();
  double *to = centred.mutable_data_ptr<double>(), *total = sum.mutable_data_ptr<double>();
  for (int64_t i = 0; i < m; ++i, to += centred.stride(0))
    for (int64_t k = 0; k < dim; ++k) {
      to[k] = x[i * dim + k] - mean[k];
      total[k] += to[k];
    }
  add_product(scatter, centred.t(), centred, Part::lower);
}

FeatureMoments MomentCollector::moments() const {
  if (n_ < 2) throw InputError("[frechet] expected at least two features, got {}", n_);
  Sums all;
  if (sums_.origin.defined()) all = {sums_.origin, sums_.sum.clone(), sums_.scatter.clone()};
  if (n_ % kPanel > 0) all.add(panel_.narrow(0, 0, n_ % kPanel));
  const auto n = static_cast<double>(n_);
  FeatureMoments out{n_, all.origin.clone(), all.scatter.contiguous()};
  const double* sum = all.sum.const_data_ptr<double>();
  double *mean = out.mean.mutable_data_ptr<double>(), *s = out.covariance.mutable_data_ptr<double>();
  const int64_t dim = out.dim();
  for (int64_t i = 0; i < dim; ++i) {
    mean[i] += sum[i] / n;
    for (int64_t j = 0; j <= i; ++j) s[j * dim + i] = s[i * dim + j] = (s[i * dim + j] - sum[i] * sum[j] / n) / (n - 1);
  }
  return out;
}

double root_trace(const FeatureMoments& a, const FeatureMoments& b) {
  const at::Tensor index = varying(a.covariance, b.covariance);
  const at::Tensor x = restricted(a.covariance, index), y = restricted(b.covariance, index);
  const int64_t dim = index.size(0), rank_a = std::min(a.n - 1, dim), rank_b = std::min(b.n - 1, dim);
  if (std::min(rank_a, rank_b) < 1) return 0;
  at::Tensor product;
  if (rank_a < dim || rank_b < dim) {
    product = rank_a < rank_b ? by_eigenvectors(x, y, rank_a) : by_eigenvectors(y, x, rank_b);
  } else {
    std::optional<at::Tensor> found = by_cholesky(x, y);
    if (!found) found = by_cholesky(y, x);
    product = found ? *found : by_eigenvectors(x, y, dim);
  }
  const SingleThreadGuard one;
  const at::Tensor values = at::linalg_eigvalsh(product, "L").contiguous();
  double sum = 0;
  for (int64_t k = 0; k < values.size(0); ++k) sum += std::sqrt(std::max(0.0, values.const_data_ptr<double>()[k]));
  return sum;
}

FrechetDistance frechet_distance(const FeatureMoments& a, const FeatureMoments& b) {
  if (a.dim() != b.dim())
    throw InputError("[frechet] expected features of one dimension, got {} and {}", a.dim(), b.dim());
  FrechetDistance out;
  double trace = 0;
  const at::Tensor da = a.covariance.diagonal().contiguous(), db = b.covariance.diagonal().contiguous();
  for (int64_t k = 0; k < a.dim(); ++k) {
    const double d = a.mean.const_data_ptr<double>()[k] - b.mean.const_data_ptr<double>()[k];
    out.mean += d * d;
    trace += da.const_data_ptr<double>()[k] + db.const_data_ptr<double>()[k];
  }
  out.covariance = trace - 2 * root_trace(a, b);
  out.value = out.mean + out.covariance;
  return out;
}

}  // namespace htfm
