// A robust scatter matrix: Tyler's M-estimator, which heavy tails do not move.
#pragma once

#include <ATen/core/Tensor.h>

namespace htfm {

/// Median of the norm of a standard normal vector, by Wilson and Hilferty.
double chi_median(int64_t dim);

/// The coordinate-wise median of n x dim rows; dim, float64.
at::Tensor median_centre(const at::Tensor& rows);

/// Distances of the rows of a tensor from a centre (dim, float64); n, float64. Torch adds the squares, in an order of
/// its own: trained models rest on these bits, couplings and scores on those of distance() in points.h.
at::Tensor distances(const at::Tensor& rows, const at::Tensor& centre);

/// Tyler's shape matrix of n x dim rows about a centre, drawn a little towards its diagonal where rows are few, and
/// scaled so that the median Mahalanobis distance is that of a normal law. dim x dim, float64, positive definite.
at::Tensor robust_scatter(const at::Tensor& rows, const at::Tensor& centre);

}  // namespace htfm
