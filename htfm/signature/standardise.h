// Features of heavy-tailed clocks, made fit for a network: a signed logarithm, then running standardisation.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// sign(x) log(1 + |x|) on the chosen coordinates (columns) of n x p features; a copy, in the same type.
at::Tensor signed_log1p(const at::Tensor& features, std::span<const int64_t> coordinates);

/// Each channel of each path minus its mean along time, over its standard deviation along time; a constant channel
/// gives 0. This is the literal "per-path" reading: it removes the scale of the clock. n x points or n x points x
/// channels.
at::Tensor standardise_along_time(const at::Tensor& paths);

/// Mean and variance of every coordinate, collected in double while training and frozen in evaluation.
class RunningStandardiser {
 public:
  explicit RunningStandardiser(int64_t size = 0);

  int64_t size() const { return static_cast<int64_t>(mean_.size()); }
  int64_t count() const { return count_; }

  /// Adds a batch n x p, float32 or float64. A value that is not finite is an Error and changes nothing.
  void update(const at::Tensor& features);
  /// (x - mean) / standard deviation as float32. A coordinate that has not varied gives 0.
  at::Tensor apply(const at::Tensor& features) const;

  /// What a checkpoint holds: count (int64 scalar), mean and sum of squared deviations (float64, p each).
  struct State {
    at::Tensor count, mean, m2;
  };
  State state() const;
  void load(const State& state);

 private:
  int64_t count_ = 0;
  std::vector<double> mean_, m2_;
};

}  // namespace htfm
