// Matrices of tensors as plain numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace htfm::report {

/// One column of an n x d matrix on the CPU with d >= least_columns, float32 or float64; throws InputError for anything
/// else.
std::vector<double> matrix_column(const at::Tensor& matrix, int64_t column, int64_t least_columns = 1);
/// One row of such a matrix.
std::vector<double> matrix_row(const at::Tensor& matrix, int64_t row);
/// Throws InputError unless the tensor is such a matrix.
void check_matrix(const at::Tensor& matrix, int64_t least_columns);

}  // namespace htfm::report
