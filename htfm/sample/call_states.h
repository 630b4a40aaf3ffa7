// A block of samples whose network is a function of the caller's; states are tensors on its device.
#pragma once

#include "htfm/model/flow_matcher.h"
#include "htfm/sample/sample_states.h"
#include "htfm/sample/sampler.h"

namespace htfm {

class CallStates final : public SampleStates {
 public:
  /// All three must outlive it.
  CallStates(const FlowMatcher& matcher, const NetworkCall& network, at::Device device, int64_t rows);

  void to_angular() override;
  void from_angular() override;
  void upload(int to, const double* x) override;
  void download(int from, double* x) override;

  int add() override;
  void evaluate(int x, const double* t, int v) override;
  void combine(int out, std::span<const Term> terms) override;
  double worst_error(int e, int a, int b, double atol, double rtol) override;
  void noise(int out, Key key, int64_t first) override;
  void fill(int out, std::span<const double> row) override;
  void clamp(int x, double bound) override;

 protected:
  void reset(const at::Tensor& feature, const at::Tensor& without) override;
  void draw_source(Key key, const at::Tensor& area, int64_t first) override;

 private:
  // One number a row, rows x 1 on the device.
  at::Tensor send(std::vector<double> values) const;
  at::Tensor& at_register(int k) { return registers_[static_cast<size_t>(k)]; }

  const FlowMatcher& matcher_;
  const NetworkCall& network_;
  at::Device device_;
  std::vector<int64_t> shape_;  // of the network's batch
  at::Tensor feature_;
  std::vector<at::Tensor> registers_;
};

}  // namespace htfm
