#include "htfm/stat/triangular.h"

#include <cmath>

namespace htfm {

namespace {

constexpr double kRidge = 1e-8;

}  // namespace

bool cholesky(const std::vector<double>& a, int64_t dim, std::vector<double>& root) {
  root.assign(static_cast<size_t>(dim * dim), 0.0);
  for (int64_t i = 0; i < dim; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double sum = a[i * dim + j];
      for (int64_t k = 0; k < j; ++k) sum -= root[i * dim + k] * root[j * dim + k];
      if (i == j && !(sum > 0)) return false;
      root[i * dim + j] = i == j ? std::sqrt(sum) : sum / root[j * dim + j];
    }
  return true;
}

void lifted_cholesky(const std::vector<double>& a, int64_t dim, std::vector<double>& root) {
  double trace = 0;
  for (int64_t k = 0; k < dim; ++k) trace += a[k * dim + k] / static_cast<double>(dim);
  if (!(trace > 0)) trace = 1;
  for (double ridge = kRidge;; ridge *= 10) {
    std::vector<double> lifted = a;
    for (int64_t k = 0; k < dim; ++k) lifted[k * dim + k] += ridge * trace;
    if (cholesky(lifted, dim, root)) break;
  }
}

double solve_lower(const std::vector<double>& root, int64_t dim, const double* x, double* out) {
  double square = 0;
  for (int64_t i = 0; i < dim; ++i) {
    double sum = x[i];
    for (int64_t k = 0; k < i; ++k) sum -= root[i * dim + k] * out[k];
    out[i] = sum / root[i * dim + i];
    square += out[i] * out[i];
  }
  return square;
}

void solve_upper(const std::vector<double>& root, int64_t dim, const double* x, double* out) {
  for (int64_t i = dim - 1; i >= 0; --i) {
    double sum = x[i];
    for (int64_t k = i + 1; k < dim; ++k) sum -= root[k * dim + i] * out[k];
    out[i] = sum / root[i * dim + i];
  }
}

double log_determinant(const std::vector<double>& root, int64_t dim) {
  double sum = 0;
  for (int64_t i = 0; i < dim; ++i) sum += std::log(root[i * dim + i]);
  return sum;
}

}  // namespace htfm
