// The Frechet distance of two sets of features, taken as Gaussians: |m_a - m_b|^2 + tr(S_a + S_b - 2 (S_a S_b)^(1/2)).
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Mean and covariance (divided by n - 1) of n features; float64 on the CPU.
struct FeatureMoments {
  int64_t n = 0;
  at::Tensor mean = {}, covariance = {};

  int64_t dim() const { return mean.size(0); }
};

/// Collects them from batches, in float64. The same features give the same bits, however they are cut into batches and
/// for any number of threads.
class MomentCollector {
 public:
  /// Adds m x dim features, float32 or float64, of any device. `what` is for messages: a feature that is not finite is
  /// an InputError.
  void add(const at::Tensor& features, std::string_view what = "frechet");
  int64_t count() const { return n_; }
  /// Of everything added so far; at least two features.
  FeatureMoments moments() const;

 private:
  struct Sums {
    void add(const at::Tensor& rows);

    at::Tensor origin;   // the mean of the first rows: sums of squares about it lose no digits
    at::Tensor sum;      // of x - origin
    at::Tensor scatter;  // of (x - origin)(x - origin)', the lower triangle
  };

  int64_t n_ = 0;
  at::Tensor panel_;  // the last features, in float64: a large product takes less time than some small ones
  Sums sums_;         // of those before
};

/// tr (S_a S_b)^(1/2). Singular covariances are welcome: with n <= dim features a covariance has rank n - 1, and no
/// eigenvalue beyond that, which is rounding, counts.
double root_trace(const FeatureMoments& a, const FeatureMoments& b);

struct FrechetDistance {
  double value = 0;
  double mean = 0;        // the share of the means
  double covariance = 0;  // the share of the covariances
};
FrechetDistance frechet_distance(const FeatureMoments& a, const FeatureMoments& b);

}  // namespace htfm
