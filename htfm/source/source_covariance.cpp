#include "htfm/source/source_covariance.h"

#include <ATen/ops/diag.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/mm.h>
#include <c10/util/Exception.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/registry.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/stat/scatter.h"

namespace htfm {

namespace {

constexpr int64_t kMostColumns = 1024;  // of a fitted matrix
constexpr int kRounds = 200;            // of the principal factors
constexpr double kLeastUniqueness =
    0.005;  // of a column's variance that is no factor's, as is usual against Heywood cases

const char* const kRoot = "source.covariance.root";
const char* const kDiagonal = "source.covariance.diagonal";
const char* const kBasis = "source.covariance.basis";
const char* const kGain = "source.covariance.gain";

at::Tensor of_trace_dim(const at::Tensor& matrix) {
  const at::Tensor symmetric = matrix.add(matrix.t()).div(2);
  const double trace = symmetric.trace().item<double>();
  if (!std::isfinite(trace) || !(trace > 0))
    throw InputError("[source.covariance] expected a positive definite matrix, got trace {}", trace);
  return symmetric.mul(static_cast<double>(matrix.size(0)) / trace);
}

const at::Tensor& find_tensor(const std::map<std::string, at::Tensor>& in, const char* name, at::IntArrayRef shape,
                              const std::string& path) {
  const auto found = in.find(name);
  if (found == in.end() || found->second.scalar_type() != at::kDouble ||
      (!shape.empty() && found->second.sizes() != shape))
    throw InputError("[checkpoint] {}: expected the tensor '{}' in float64, got none or another", path, name);
  return found->second;
}

}  // namespace

std::span<const SourceCovarianceInfo> source_covariances() {
  static const std::vector<SourceCovarianceInfo> list{
      {"identity", "all directions alike", {}},
      {"full", "a matrix fitted to the data",
       [](const at::Tensor& scatter, int64_t) { return SourceCovariance::full(scatter); }},
      {"low-rank", "a diagonal and source.rank factors, fitted to the data", SourceCovariance::low_rank},
  };
  return list;
}

SourceCovariance SourceCovariance::fit(const SourceCovarianceSpec& spec, const at::Tensor& rows) {
  const SourceCovarianceInfo& kind = find_named(source_covariances(), spec.kind, "source.covariance");
  if (!kind.make) return {};
  const int64_t n = rows.size(0), dim = rows.size(1);
  if (dim > kMostColumns)
    throw InputError("[source.covariance] expected identity for more than {} columns, got {}", kMostColumns, spec.kind);
  if (n < 2) throw InputError("[source.covariance] expected at least two rows to fit a matrix to, got {}", n);
  const SingleThreadGuard one;
  return kind.make(robust_scatter(rows, median_centre(rows)), spec.rank);
}

SourceCovariance SourceCovariance::full(const at::Tensor& matrix) {
  if (matrix.dim() != 2 || matrix.size(0) != matrix.size(1))
    throw InputError("[source.covariance] expected a square matrix, got {}", fmt::join(matrix.sizes(), " x "));
  SourceCovariance out;
  try {
    out.root_ = at::linalg_cholesky(of_trace_dim(matrix)).contiguous();
  } catch (const c10::Error&) {
    throw InputError(
        "[source.covariance] expected a positive definite matrix, got one that is not: is a column a sum of others?");
  }
  return out;
}

SourceCovariance SourceCovariance::low_rank(const at::Tensor& matrix, int64_t rank) {
  const int64_t dim = matrix.size(0);
  if (rank >= dim) throw InputError("[source.rank] expected fewer factors than columns, {}, got {}", dim, rank);
  const at::Tensor s = of_trace_dim(matrix), variances = s.diagonal().clone();
  // Principal factors: the leading eigenvectors of s without the diagonal that they leave over, until that does not
  // change.
  at::Tensor left = variances.div(2), loadings;
  for (int round = 0; round < kRounds; ++round) {
    const auto [values, vectors] = at::linalg_eigh(s.sub(at::diag(left)));
    loadings = vectors.narrow(1, dim - rank, rank).mul(values.narrow(0, dim - rank, rank).clamp_min(0).sqrt());
    const at::Tensor next = variances.sub(loadings.square().sum(1)).maximum(variances.mul(kLeastUniqueness));
    const double change = next.sub(left).abs().max().item<double>();
    left = next;
    if (change < 1e-10) break;
  }
  // A column at the floor has more variance than its own; the trace is brought back.
  const double unit = static_cast<double>(dim) / (left.sum().item<double>() + loadings.square().sum().item<double>());
  SourceCovariance out;
  out.diagonal_ = left.mul(unit).sqrt().contiguous();
  // I + W W' with W = D^(-1/2) U has the eigenvectors Q of W W' and the root I + Q (sqrt(1 + lambda) - 1) Q'.
  const at::Tensor w = loadings.div(left.sqrt().unsqueeze(1));
  const auto [values, vectors] = at::linalg_eigh(at::mm(w, w.t()));
  out.basis_ = vectors.narrow(1, dim - rank, rank).contiguous();
  out.gain_ = values.narrow(0, dim - rank, rank).clamp_min(0).add(1).sqrt().sub(1).contiguous();
  return out;
}

int64_t SourceCovariance::dim() const {
  return root_.defined() ? root_.size(0) : diagonal_.defined() ? diagonal_.size(0) : 0;
}

void SourceCovariance::apply(at::Tensor& x) const {
  if (identity()) return;
  const int64_t n = x.size(0), d = dim();
  if (x.size(1) != d)
    throw InputError("[source.covariance] expected {0} columns for a matrix {0} x {0}, got {1}", d, x.size(1));
  const at::Device device = x.device();
  at::Tensor host = x.cpu().contiguous();
  double* rows = host.mutable_data_ptr<double>();
  const double* root = root_.defined() ? root_.const_data_ptr<double>() : nullptr;
  const double* diagonal = root ? nullptr : diagonal_.const_data_ptr<double>();
  const double* basis = root ? nullptr : basis_.const_data_ptr<double>();
  const double* gain = root ? nullptr : gain_.const_data_ptr<double>();
  const int64_t rank = root ? 0 : gain_.size(0);
  parallel_ranges(n, 1024, [&](int64_t first, int64_t last) {
    std::vector<double> factor(static_cast<size_t>(rank));
    for (int64_t i = first; i < last; ++i) {
      double* z = rows + i * d;
      if (root) {
        for (int64_t k = d; k-- > 0;) {  // from below, so that what is still needed is not overwritten
          double sum = 0;
          for (int64_t j = 0; j <= k; ++j) sum += root[k * d + j] * z[j];
          z[k] = sum;
        }
        continue;
      }
      for (int64_t r = 0; r < rank; ++r) {
        double sum = 0;
        for (int64_t k = 0; k < d; ++k) sum += basis[k * rank + r] * z[k];
        factor[r] = gain[r] * sum;
      }
      for (int64_t k = 0; k < d; ++k) {
        for (int64_t r = 0; r < rank; ++r) z[k] += basis[k * rank + r] * factor[r];
        z[k] *= diagonal[k];
      }
    }
  });
  x = host.to(device);
}

at::Tensor SourceCovariance::matrix() const {
  if (identity()) return {};
  at::Tensor columns = at::eye(dim(), at::kDouble);  // its rows become the columns of R
  apply(columns);
  return at::mm(columns.t(), columns);
}

void SourceCovariance::save_state(std::map<std::string, at::Tensor>& out) const {
  if (root_.defined()) out[kRoot] = root_;
  if (diagonal_.defined()) out[kDiagonal] = diagonal_, out[kBasis] = basis_, out[kGain] = gain_;
}

SourceCovariance SourceCovariance::load_state(const SourceCovarianceSpec& spec,
                                              const std::map<std::string, at::Tensor>& in, const std::string& path) {
  SourceCovariance out;
  if (spec.identity()) return out;
  if (in.contains(kRoot)) {
    const int64_t dim = in.at(kRoot).size(0);
    out.root_ = find_tensor(in, kRoot, {dim, dim}, path);
    return out;
  }
  out.gain_ = find_tensor(in, kGain, {}, path);
  out.diagonal_ = find_tensor(in, kDiagonal, {}, path);
  out.basis_ = find_tensor(in, kBasis, {out.diagonal_.numel(), out.gain_.numel()}, path);
  return out;
}

}  // namespace htfm
