// Muon: a matrix moves along its momentum with all singular values made equal, so that rare directions move as far as
// frequent ones (K. Jordan and others, 2024).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/net/parameters.h"

namespace htfm HTFM_PUBLIC {

/// Matrices of one shape among a network's parameters. A convolution is a matrix of outputs x (kernel, kernel, inputs).
struct MatrixGroup {
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> offsets;  ///< where each one begins
};

/// The matrices that Muon moves: weights under weight decay with at least 16 rows and columns. All others, and all
/// vectors, are AdamW's.
std::vector<MatrixGroup> matrix_groups(const ParameterLayout& layout);

/// Near the closest matrices with orthonormal rows or columns, of each matrix of x (... x rows x columns): five steps
/// of a Newton-Schulz iteration that bring every singular value to between 0.7 and 1.2. Computed in `type`.
at::Tensor orthogonalised(const at::Tensor& x, at::ScalarType type);

/// What an orthogonal matrix of this shape is multiplied by, so that the root mean square of its elements is `rate`.
double muon_scale(double rate, int64_t rows, int64_t columns);

}  // namespace htfm
