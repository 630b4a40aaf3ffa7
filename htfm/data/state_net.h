// The law of one discrete number given others: a small network whose output is the logarithm of each state's share.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "htfm/base/random.h"
#include "htfm/data/state_kernels.h"

namespace htfm {

/// What a state may depend on: numbers, and discrete numbers that come before it.
struct StateInputs {
  at::Tensor numbers;                   ///< n x d float32, of order one
  std::vector<at::Tensor> states = {};  ///< n int64 each, 0, 1, ... below their counts
};

/// Where the lines between which a number is told to a network bend: of each column of numbers (n x d float32)
/// quantiles, ascending, d x k float32, NaN after the last one. A column with fewer than two different values has none,
/// and neither have those that `smooth` names.
at::Tensor state_knots(const at::Tensor& numbers, const std::vector<bool>& smooth = {});

/// Two hidden layers; a discrete input is a row of weights of its own, so that memory grows with the number of states
/// and not with its square. A number comes in as it is, and as a polygon with knots for each hidden unit: what is
/// smooth alone would wash out what holds for one value, or from one value on.
class StateNet {
 public:
  static constexpr int64_t kMostSteps = 3000;  ///< of its training

  StateNet() = default;
  /// `counts`: of the discrete inputs; `states`: of the output; `knots`: of the numbers, undefined where there are
  /// none.
  StateNet(int64_t numbers, std::vector<int64_t> counts, int64_t states, const at::Tensor& knots = {});

  /// Fits it to states 0, 1, ... (n int64) by their likelihood; the weights are those that serve rows best which are
  /// not trained on. A function of the key alone, by one thread. `most_steps`: 0 for as many as its size allows.
  void train(const StateInputs& inputs, const at::Tensor& target, Key key, int64_t most_steps = 0);
  /// n x states: logarithms of shares, up to a constant a row.
  at::Tensor logits(const StateInputs& inputs) const;

  bool there() const { return weights_.defined(); }
  /// As one row of a checkpoint, and back; false where the size is another.
  const at::Tensor& weights() const { return weights_; }
  bool set_weights(const at::Tensor& weights);

 private:
  struct Pass;
  std::vector<at::Tensor> views(const at::Tensor& flat) const;
  Pass forward(const std::vector<at::Tensor>& w, const StateInputs& inputs) const;
  double loss(const at::Tensor& flat, const StateInputs& inputs, const at::Tensor& target) const;
  int64_t size() const;
  int64_t pieces() const;
  int64_t knot_count() const;
  Polygons polygons() const;
  void add_polygons(const at::Tensor& weights, const at::Tensor& numbers, at::Tensor& out) const;
  void polygon_gradient(const at::Tensor& out, const at::Tensor& numbers, at::Tensor& weights) const;

  int64_t numbers_ = 0, states_ = 0, width_ = 0;
  std::vector<int64_t> pieces_;  // of each number's polygon
  std::vector<float> knots_;     // as Polygons has them
  std::vector<int64_t> counts_;
  at::Tensor weights_;
};

}  // namespace htfm
