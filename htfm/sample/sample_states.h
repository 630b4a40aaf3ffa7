// A block of samples on their way from noise to data, each with its clock. CpuStates, CudaStates and CallStates
// implement it; the sampler does not depend on which.
#pragma once

#include "htfm/method/flow_matching.h"
#include "htfm/method/states.h"

namespace htfm {

/// States are double: a large clock starts a sample far out, and what is left of it near t = 1 must not drown in
/// rounding.
class SampleStates : public States {
 public:
  /// The method and the statistics of its feature must outlive it.
  SampleStates(const Method& method, const RunningStandardiser& standardiser, int64_t dim, int64_t rows)
      : method_(method), rows_(rows), dim_(dim), standardiser_(standardiser) {}
  int64_t rows() const override { return rows_; }

  /// Draws clocks and sources first.. of a key into register 0; area gets the rows' areas. Registers that were added
  /// are free again.
  void begin(Key key, int64_t first, double* area);
  /// The same with clocks and standard normal numbers (rows x dim, float64) that are given, instead of drawn.
  void begin(const ClockSample& clocks, const at::Tensor& z, double* area);
  /// For a method's own sampler: evaluate() is the bare network, told the features of the clocks first.. of a key,
  /// which are those that the sampler draws itself.
  void begin_bare(Key key, int64_t first);
  /// What the network is told of the rows' conditions (rows x size, float32) from the next begin() on; undefined:
  /// nothing. `absent`: the same where nothing is given, for guidance of the strength w; undefined: none.
  void give(at::Tensor condition, at::Tensor absent = {}, double w = 0) {
    condition_ = std::move(condition), absent_ = std::move(absent), guidance_ = w;
  }
  /// Whether velocities are with respect to the angle (FlowMatching::angular), of y = c_in x; otherwise to time, of x.
  void set_angular(bool on) { angular_ = on; }
  /// Register 0 between x and y = c_in x at the ends of the path, where x has the scales s_0 and s_d.
  virtual void to_angular() = 0;
  virtual void from_angular() = 0;
  const FlowMatching::Scales& scales(int64_t row) const { return scales_[static_cast<size_t>(row)]; }

  /// A register to and from the host, rows x dim.
  virtual void upload(int to, const double* x) = 0;
  virtual void download(int from, double* x) = 0;

 protected:
  /// Takes up features of new rows (rows x size, float32, or undefined); frees all registers but 0. `without`: the
  /// features without the condition, where the network's output is F_0 + (1 + guidance()) (F - F_0); else undefined.
  virtual void reset(const at::Tensor& feature, const at::Tensor& without) = 0;
  double guidance() const { return guidance_; }
  /// Source points of these areas into register 0.
  virtual void draw_source(Key key, const at::Tensor& area, int64_t first) = 0;

  /// How the network is asked at one row's time: velocity = skip x + out F(in x, time).
  struct Coefficients {
    double in = 1, time = 0, skip = 0, out = 1;
  };
  Coefficients coefficients(int64_t row, double t) const;

  const FlowMatching& flow() const { return *method_.flow(); }

  const Method& method_;
  int64_t rows_, dim_;

 private:
  void take_features(const ClockSample& clocks);
  // Takes up the clocks of new rows.
  void take(const ClockSample& clocks, double* area);
  const RunningStandardiser& standardiser_;
  at::Tensor condition_, absent_;
  double guidance_ = 0;
  at::Tensor coordinates_;  // what the schedule is told of the clocks: the scales point into it
  std::vector<FlowMatching::Scales> scales_;
  bool angular_ = true, bare_ = false;
};

}  // namespace htfm
