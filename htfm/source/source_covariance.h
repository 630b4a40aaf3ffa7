// The covariance of the source given the clock, 2A(T) Sigma (eq. clock-gmvm): Sigma the identity, or a matrix fitted to
// the data.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <span>
#include <string>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Which covariance, as a config states it.
struct SourceCovarianceSpec {
  std::string kind = "identity";  ///< of source_covariances()
  int64_t rank = 1;               ///< low-rank: factors beside the diagonal
  bool identity() const { return kind == "identity"; }
};

/// Sigma by a root R, Sigma = R R', of trace dim: the source's mean square given the clock is 2A, as with the identity,
/// so that clocks and scales keep their meaning.
class SourceCovariance {
 public:
  SourceCovariance() = default;
  /// Fits the kind to rows n x dim (float32 or float64) by Tyler's scatter, which heavy tails do not move; InputError
  /// where it cannot be.
  static SourceCovariance fit(const SourceCovarianceSpec& spec, const at::Tensor& rows);
  /// The covariance of a positive definite matrix, dim x dim in float64, brought to trace dim. InputError for another.
  static SourceCovariance full(const at::Tensor& matrix);
  /// The nearest diagonal plus `rank` factors, by principal factors.
  static SourceCovariance low_rank(const at::Tensor& matrix, int64_t rank);

  bool identity() const { return !root_.defined() && !diagonal_.defined(); }
  /// 0 for the identity.
  int64_t dim() const;
  /// Each row x of n x dim, float64, becomes R x, in the same bits whatever the number of threads or rows. Rows on a
  /// device are brought to the host and back.
  void apply(at::Tensor& x) const;
  /// Sigma, dim x dim; undefined for the identity.
  at::Tensor matrix() const;

  /// For a checkpoint.
  void save_state(std::map<std::string, at::Tensor>& out) const;
  static SourceCovariance load_state(const SourceCovarianceSpec& spec, const std::map<std::string, at::Tensor>& in,
                                     const std::string& path);

 private:
  // full: R = root_, lower triangular. low-rank: R = D^(1/2) (I + Q diag(gain) Q'), Q orthonormal, so that no noise
  // beside z is needed.
  at::Tensor root_, diagonal_, basis_, gain_;
};

/// A kind of covariance by name, made of a scatter matrix of the data; `make` is empty for the identity.
struct SourceCovarianceInfo {
  std::string name, summary;
  std::function<SourceCovariance(const at::Tensor& scatter, int64_t rank)> make;
};
std::span<const SourceCovarianceInfo> source_covariances();

}  // namespace htfm
