#include "htfm/report/matrix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "htfm/base/error.h"

namespace htfm::report {
namespace {

template <class T>
std::vector<double> strided(const at::Tensor& matrix, int64_t first, int64_t step, int64_t n) {
  const T* data = matrix.const_data_ptr<T>();
  std::vector<double> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out[static_cast<size_t>(i)] = static_cast<double>(data[first + i * step]);
  return out;
}

std::vector<double> values(const at::Tensor& matrix, int64_t first, int64_t step, int64_t n) {
  return matrix.scalar_type() == at::kFloat ? strided<float>(matrix, first, step, n)
                                            : strided<double>(matrix, first, step, n);
}

}  // namespace

void check_matrix(const at::Tensor& matrix, int64_t least_columns) {
  if (!matrix.defined()) throw InputError("[report] expected a matrix, got an undefined tensor");
  if (matrix.dim() != 2 || matrix.size(1) < least_columns)
    throw InputError("[report] expected a matrix with at least {} columns, got shape [{}]", least_columns,
                     fmt::join(matrix.sizes(), ", "));
  if (matrix.scalar_type() != at::kFloat && matrix.scalar_type() != at::kDouble)
    throw InputError("[report] expected float32 or float64, got {}", c10::toString(matrix.scalar_type()));
  if (!matrix.device().is_cpu())
    throw InputError("[report] expected a tensor on the CPU, got one on {}", matrix.device().str());
}

std::vector<double> matrix_column(const at::Tensor& matrix, int64_t column, int64_t least_columns) {
  check_matrix(matrix, std::max(least_columns, column + 1));
  return values(matrix, column * matrix.stride(1), matrix.stride(0), matrix.size(0));
}

std::vector<double> matrix_row(const at::Tensor& matrix, int64_t row) {
  check_matrix(matrix, 1);
  return values(matrix, row * matrix.stride(0), matrix.stride(1), matrix.size(1));
}

}  // namespace htfm::report
