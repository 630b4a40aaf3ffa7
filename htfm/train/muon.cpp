#include "htfm/train/muon.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <cmath>

namespace htfm {

namespace {

constexpr int64_t kSmallest = 16;  // of rows and columns: below that little is to be gained
constexpr int kSteps = 5;
// p(s) = a s + b s^3 + c s^5, five times, takes every s of (0.003, 1] to between 0.7 and 1.2.
constexpr double kLinear = 3.4445, kCubic = -4.7750, kQuintic = 2.0315;

}  // namespace

std::vector<MatrixGroup> matrix_groups(const ParameterLayout& layout) {
  std::vector<MatrixGroup> groups;
  for (const ParameterInfo& p : layout.list()) {
    if (!p.decay || p.stacked || p.shape.size() < 2) continue;
    const int64_t rows = p.shape[0], columns = p.size / rows;
    if (std::min(rows, columns) < kSmallest) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const MatrixGroup& g) { return g.rows == rows && g.columns == columns; });
    if (group == groups.end()) group = groups.insert(group, MatrixGroup{rows, columns, {}});
    group->offsets.push_back(p.offset);
  }
  return groups;
}

at::Tensor orthogonalised(const at::Tensor& x, at::ScalarType type) {
  const int64_t rows = x.size(-2), columns = x.size(-1);
  at::Tensor y = x.reshape({-1, rows, columns});
  if (rows > columns) y = y.transpose(1, 2);
  // The Frobenius norm bounds the largest singular value.
  y = (y / (at::linalg_vector_norm(y, 2, at::IntArrayRef{1, 2}, true) + 1e-12)).to(type).contiguous();
  for (int k = 0; k < kSteps; ++k) {
    const at::Tensor a = at::bmm(y, y.transpose(1, 2));
    const at::Tensor b = at::baddbmm(a, a, a, kCubic, kQuintic);
    y = at::baddbmm(y, b, y, kLinear, 1);
  }
  if (rows > columns) y = y.transpose(1, 2);
  return y.reshape(x.sizes()).to(x.scalar_type());
}

double muon_scale(double rate, int64_t rows, int64_t columns) {
  return rate * std::sqrt(static_cast<double>(std::max(rows, columns)));
}

}  // namespace htfm
