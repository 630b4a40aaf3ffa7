// Training pairs made on a CUDA device out of a plan of the host, in the order of the stream that torch uses there. The
// kernels are loaded when a device is first asked for.
#pragma once

#include <vector>

#include "htfm/method/method.h"

namespace htfm {

class PairDevice {
 public:
  virtual ~PairDevice() = default;

  /// Of the type and on the device of the data: times n, the rest n x dim and n x feature.
  struct Pairs {
    at::Tensor t, x, target, feature;
  };
  /// The pairs of a plan for data n x dim, float32 or float64, on a device. Nothing waits: coefficients and feature go
  /// in one copy, and noise that the plan left out is drawn there.
  virtual Pairs pairs(const PairPlan& plan, const at::Tensor& data) const = 0;
  /// |x - centre| of each row, x as float32, in the bits of the host (htfm/stat/points.h); the result is on the host.
  virtual at::Tensor distances(const at::Tensor& data, const at::Tensor& centre) const = 0;
};

/// That of this machine; InputError where the CUDA library or a device is missing.
const PairDevice& pair_device();

}  // namespace htfm
