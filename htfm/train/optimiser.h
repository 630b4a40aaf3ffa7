// AdamW, or Muon for the matrices, with warm-up, StepLR, cooldown, clipping and EMA over a network's flat parameters.
#pragma once

#include <ATen/core/Tensor.h>

#include "htfm/base/api.h"
#include "htfm/model/config.h"
#include "htfm/net/parameters.h"
#include "htfm/train/muon.h"

namespace htfm HTFM_PUBLIC {

/// The trained state: flat float32 buffers laid out as the network's parameters.
struct OptimiserState {
  at::Tensor parameters, ema, first_moment, second_moment;
  int64_t updates = 0;  ///< steps that changed the parameters

  /// Moments of zero beside these buffers, which stay shared.
  static OptimiserState initial(at::Tensor parameters, at::Tensor ema);
};

class Optimiser {
 public:
  /// `steps`: of the whole training, which a cooldown counts back from.
  Optimiser(const ParameterLayout& layout, const TrainConfig& config, int64_t steps);
  /// Learning rate of a step, counted from 0.
  double learning_rate(int64_t step) const;
  /// Norm of a gradient.
  double norm(const float* gradient) const;
  /// One update; `norm` is the gradient's.
  void update(int64_t step, const float* gradient, double norm, OptimiserState& state) const;

 private:
  struct Coefficients;
  void move_matrices(const Coefficients& c, const float* gradient, OptimiserState& state) const;

  const ParameterLayout& layout_;
  TrainConfig config_;
  int64_t steps_;
  std::vector<float> decay_;
  std::vector<MatrixGroup> matrices_;              // Muon's; none for AdamW
  std::vector<std::pair<int64_t, int64_t>> adam_;  // ranges of all other parameters, in parts
};

}  // namespace htfm
