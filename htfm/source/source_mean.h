// Gaussian mean-variance mixtures (eq. clock-gmvm): given the clock the source is N(m(T), 2A(T) Sigma) with m affine in
// the area, m = shift + skew 2A. Over the clock it is skewed: variance-gamma, normal-inverse-Gaussian, ...
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Where a source lies, as a config states it: numbers with commas between, one for each coordinate or one for all;
/// empty: 0.
struct SourceMeanSpec {
  std::string skew = {}, shift = {};
};

class SourceMean {
 public:
  SourceMean() = default;
  /// InputError names the key that is wrong.
  explicit SourceMean(const SourceMeanSpec& spec);
  bool zero() const { return skew_.empty() && shift_.empty(); }
  /// InputError where the lists are not of one number or of dim.
  void check(int64_t dim) const;
  /// x_i += m for the rows of x, n x dim, with these areas, n; float64 on one device.
  void add(const at::Tensor& area, at::Tensor& x) const;
  /// The mean over coordinates of m^2.
  double square(double area) const;
  /// Tail exponent of the source, where that of sqrt(2A) z is `exponent`: half of it with a skew, since skew 2A grows
  /// like its square.
  double tail_exponent(double exponent) const { return skew_.empty() ? exponent : exponent / 2; }
  /// That of one coordinate above (sign > 0) or below: half on the side of its skew; infinite on the other, where the
  /// mean draws back and P(X < -x) <= exp(-2 |skew| x / Sigma_kk) / 2 for a shift of 0.
  double tail_exponent(double exponent, int64_t column, double sign) const;

 private:
  double at(const std::vector<double>& list, size_t k) const {
    return list.empty() ? 0 : list.size() == 1 ? list[0] : list[k];
  }
  std::vector<double> skew_, shift_;
};

/// A named law of skewed sources: which clock it belongs to.
struct SkewedSource {
  std::string name, summary, family;
};
std::span<const SkewedSource> skewed_sources();

}  // namespace htfm
