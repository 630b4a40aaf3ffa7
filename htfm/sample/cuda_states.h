// A block of samples on a CUDA device: states in float64, the network recorded once and replayed.
#pragma once

#include "htfm/device/device.h"
#include "htfm/model/model.h"
#include "htfm/net/unet_pass.h"
#include "htfm/sample/sample_states.h"

namespace htfm {

class CudaStates final : public SampleStates {
 public:
  /// Uploads weights (flat, float32, on the host) and records a pass over so many rows. InputError where the device
  /// cannot run the network.
  CudaStates(const Model& model, const at::Tensor& weights, int64_t rows, const std::string& precision);
  ~CudaStates() override;

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
  at::Tensor send(const std::vector<double>& values, at::IntArrayRef shape);
  const at::Tensor& at_register(int k) const { return registers_[static_cast<size_t>(k)]; }

  const ImageDevice& device_;
  std::unique_ptr<ImageOps> ops_;
  std::unique_ptr<DeviceQueue> queue_;
  std::unique_ptr<UNetPass> pass_;  // the recording points at its weights
  at::Tensor master_, compute_, feature_, input_, time_, output_;
  at::Tensor given_, without_;  // features with and without the condition, where there is guidance
  std::vector<at::Tensor> registers_;
  size_t used_ = 1;
  int recording_ = -1;
};

}  // namespace htfm
