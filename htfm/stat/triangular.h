// Small dense matrices by their lower triangular roots, row by row.
#pragma once

#include <cstdint>
#include <vector>

namespace htfm {

/// Lower Cholesky root of a dim x dim matrix, of which the lower half is read; false where it is not positive definite.
bool cholesky(const std::vector<double>& a, int64_t dim, std::vector<double>& root);

/// The same of a scatter matrix that may be singular: its diagonal is lifted by 1e-8 of the mean of the diagonal, or as
/// much as it takes.
void lifted_cholesky(const std::vector<double>& a, int64_t dim, std::vector<double>& root);

/// root^-1 x into out (which may be x); gives its squared length.
double solve_lower(const std::vector<double>& root, int64_t dim, const double* x, double* out);

/// root^-T x into out (which may be x).
void solve_upper(const std::vector<double>& root, int64_t dim, const double* x, double* out);

/// Logarithm of the determinant of a root.
double log_determinant(const std::vector<double>& root, int64_t dim);

}  // namespace htfm
