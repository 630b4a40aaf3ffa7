// Skewed laws of a table by maximum likelihood: X = location + skew V + sqrt(V) root z, normal given V, with V of a
// named law. They are the sources of the same names (htfm/source/source_mean.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace htfm {

/// The density v^(lambda-1) exp(-(chi/v + psi v)/2) times exp(log_constant): the laws of V that stay of this form given
/// a row.
struct MixingPrior {
  double lambda, chi, psi, log_constant;
};

/// Means over the rows, given each: of V, 1/V and log V.
struct MixingMoments {
  double v = 1, inverse = 1, log = 0;
};

/// A law of V with one parameter, by the name of the skewed source.
struct SkewedFamily {
  std::string name, parameter;
  std::function<MixingPrior(double parameter)> prior;
  std::function<double(const MixingMoments&)> best;  ///< the parameter with the largest expected likelihood
};
/// skewed-student (nu) and normal-inverse-gaussian (shape): power tails and exponential ones.
std::span<const SkewedFamily> skewed_families();

struct SkewedLaw {
  std::string name, parameter;
  double value = 1;                    ///< of the parameter
  std::vector<double> location, skew;  ///< dim
  std::vector<double> root;            ///< dim x dim, lower triangular
  double log_likelihood = 0;           ///< of the rows it was fitted to
  int64_t rows = 0;                    ///< as many; more than 10,000 are thinned
  int64_t rounds = 0;
  bool converged = false;

  int64_t dim() const { return static_cast<int64_t>(location.size()); }
  /// Root of the mean over columns of the variance given V = 1.
  double scale() const;
  double log_density(const double* row) const;
};

/// Fits a family to rows n x dim (float32 or float64, n > dim + 1) by EM; where `symmetric` the skew stays 0. A fit
/// that begins at the symmetric one is never less likely: `start` may be that.
SkewedLaw fit_skewed_law(const SkewedFamily& family, const at::Tensor& rows, bool symmetric = false,
                         const SkewedLaw* start = nullptr);

/// Mean of V, 1/V and log V, and the logarithm of the integral, for the density v^(lambda-1) exp(-(chi/v + psi v)/2).
struct GigMoments {
  double v, inverse, log, log_integral;
};
GigMoments gig_moments(double lambda, double chi, double psi);

}  // namespace htfm
