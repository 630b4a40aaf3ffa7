// A block of samples on a device, each with its clock: states in float64, the network recorded once and replayed.
#pragma once

#include "htfm/net/unet_pass.h"
#include "htfm/path/states.h"
#include "htfm/train/device.h"
#include "htfm/train/model.h"

namespace htfm {

class DeviceStates final : public States {
 public:
  /// Uploads weights (flat, float32, on the host) and records a pass over so many rows.
  DeviceStates(const Model& model, const at::Tensor& weights, int64_t rows, const std::string& precision);
  ~DeviceStates() override;

  /// Draws clocks and sources first.. of a key into register 0; writes the rows' areas. Registers that were added are free again.
  void begin(Key key, int64_t first, double* area);
  /// For a method's own sampler: evaluate() is the bare network from now on, told these features (rows x size, or undefined). Registers
  /// that were added are free again.
  void begin_bare(const at::Tensor& feature);
  /// Whether velocities are with respect to the angle (FlowMatching::angular), of y = c_in x; otherwise to time, of x.
  void set_angular(bool on) { angular_ = on; }
  const FlowMatching::Scales& scales(int64_t row) const { return scales_[static_cast<size_t>(row)]; }
  /// Register 0 times a factor for each row.
  void scale(const std::vector<double>& factor);
  /// A register to and from the host, rows x dim.
  void upload(int to, const double* x);
  void download(int from, double* x);

  int64_t rows() const override { return rows_; }
  int add() override;
  void evaluate(int x, const double* t, int v) override;
  void combine(int out, std::span<const Term> terms) override;
  double worst_error(int e, int a, int b, double atol, double rtol) override;
  void noise(int out, Key key, int64_t first) override;
  void fill(int out, std::span<const double> row) override;
  void clamp(int x, double bound) override;

 private:
  at::Tensor send(const std::vector<double>& values, at::IntArrayRef shape);
  const at::Tensor& at_register(int k) const { return registers_[static_cast<size_t>(k)]; }

  const Model& model_;
  const ImageDevice& device_;
  int64_t rows_, dim_;
  std::unique_ptr<ImageOps> ops_;
  std::unique_ptr<DeviceQueue> queue_;
  std::unique_ptr<UNetPass> pass_;  // the recording points at its weights
  at::Tensor master_, compute_, feature_, input_, time_, output_;
  at::Tensor eta_;  // on the host: the rows of the scales
  std::vector<at::Tensor> registers_;
  size_t used_ = 1;
  std::vector<FlowMatching::Scales> scales_;
  bool angular_ = true, bare_ = false;
  int recording_ = -1;
};

}  // namespace htfm
