// A network written with tensor operations alone: LibTorch finds the gradient.
#pragma once

#include <span>

#include "htfm/base/api.h"
#include "htfm/net/network.h"

namespace htfm HTFM_PUBLIC {

/// A base for one's own networks. The constructor adds the parameters, and output() is what the network computes of
/// them.
class ModuleNetwork : public Network {
 public:
  ModuleNetwork(int64_t dim, int64_t feature) : dim_(dim), feature_(feature) {}
  int64_t dim() const override { return dim_; }
  int64_t feature_size() const override { return feature_; }
  int64_t evaluation_rows() const override { return 512; }
  at::Tensor forward(const float* parameters, const NetworkInput& input) const override;
  double gradient(const float* parameters, const NetworkInput& input, const SampleLoss& loss,
                  float* gradient) const override;
  int64_t part_count(int64_t rows) const override;
  double part_gradient(const float* parameters, const NetworkInput& input, const SampleLoss& loss, int64_t part,
                       float* gradient) const override;
  std::unique_ptr<Evaluator> evaluator(const float* parameters, int64_t rows, const float* feature) const override;

 protected:
  /// Adds a parameter and returns its place among those that output() gets. It starts uniform in (centre - bound,
  /// centre + bound); `decay`: weight decay acts on it.
  size_t add_parameter(std::string name, std::vector<int64_t> shape, double bound, bool decay = true,
                       double centre = 0);

  /// The output, n x dim in float32, for states x (n x dim), times t (n) and features (n x feature size; n x 0 where
  /// there are none). Called from several threads at a time, each with rows of its own; row i of the output depends on
  /// row i of the input alone. The operations must be differentiable ones of tensors, and draw no random numbers.
  virtual at::Tensor output(std::span<const at::Tensor> parameters, const at::Tensor& x, const at::Tensor& t,
                            const at::Tensor& feature) const = 0;

 private:
  friend class ModuleEvaluator;
  std::vector<at::Tensor> tensors(const float* parameters) const;
  NetworkInput part(const NetworkInput& input, int64_t first, int64_t rows) const;
  at::Tensor checked_output(std::span<const at::Tensor> parameters, const NetworkInput& input) const;
  void check(const NetworkInput& input) const;

  int64_t dim_, feature_;
};

}  // namespace htfm
