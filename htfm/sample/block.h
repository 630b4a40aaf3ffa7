// A block of samples on their way: each with its clock, its scales and the network's velocity.
#pragma once

#include "htfm/train/model.h"

namespace htfm {

/// The bare network for rows that keep their features.
class NetworkRows {
 public:
  NetworkRows(const Model& model, const float* weights, int64_t rows, const float* feature = nullptr);
  /// out = network(x, t), each row at its own time.
  void operator()(const double* x, const double* t, double* out);
  /// output = network(input, time).
  void evaluate();
  std::vector<float> time, input, output;

 private:
  std::unique_ptr<Evaluator> network_;
};

/// The state is double: a large clock starts a sample far out, and what is left of it near t = 1 must not drown in rounding.
class Block {
 public:
  /// Draws clocks and sources first..first+rows of a key into area[rows] and x[rows x dim]. Weights: those of the network.
  Block(const Model& model, const float* weights, Key key, int64_t first, int64_t rows, double* area, double* x);
  const FlowMatching::Scales& scales(int64_t row) const { return scales_[static_cast<size_t>(row)]; }

  /// v = c_skip x + c_out F(c_in x, t, feature).
  void velocity(const double* x, const double* t, double* v);
  /// dy/du with the angle u pi/2 (FlowMatching::angular).
  void angular_velocity(const double* y, const double* u, double* v);
  /// Between x and y = c_in x at the ends of the path, where x has the scales s_0 and s_d.
  void to_angular(double* x) const;
  void from_angular(double* y) const;

 private:
  const FlowMatching& flow_;
  int64_t rows_, dim_;
  at::Tensor feature_, eta_;
  std::unique_ptr<NetworkRows> network_;
  std::vector<FlowMatching::Scales> scales_;
  std::vector<Scaling> scaling_;
};

}  // namespace htfm
