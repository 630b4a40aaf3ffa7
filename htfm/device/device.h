// What a device offers for training and sampling images: the operations of networks, graphs of recorded work, and the
// kernels of a step. The library is loaded when a device is first asked for.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "htfm/device/step_types.h"
#include "htfm/method/method.h"
#include "htfm/net/image_ops.h"

namespace htfm {

/// How a device computes.
struct DevicePrecision {
  at::ScalarType type = at::kBFloat16;
  bool tf32 = false;       ///< float32 products with 10 bits of mantissa
  bool eight_bit = false;  ///< evaluations: convolutions after norms in eight bits
};
/// fp8 (for evaluations alone), bf16, tf32 or float32.
DevicePrecision precision_by_name(const std::string& name);

/// Work on one stream that is recorded once and then replayed at once.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  /// Runs `body` with this queue's stream as the current one.
  virtual void run(const std::function<void()>& body) = 0;
  /// Records what `body` does, without doing it; returns the recording's number. Warm up before: algorithms are chosen
  /// on first use.
  virtual int record(const std::function<void()>& body) = 0;
  virtual void replay(int recording) = 0;
  /// Runs `body` on a stream beside this queue's, after what is queued so far; join(): what follows waits for all of
  /// it.
  virtual void beside(const std::function<void()>& body) = 0;
  virtual void join() = 0;
  virtual void wait() = 0;
  /// Records an event, and waits for the last recorded one; returns at once where none was recorded.
  virtual void mark(size_t place) = 0;
  virtual void wait_for(size_t place) = 0;
};

struct StepTensors {
  at::Tensor header, rows;  ///< bytes of a StepHeader and of StepRows, on the device
};

struct PairTensors {
  at::Tensor input, target, time;
};

struct PredictedTensors {
  at::Tensor output, target;
};

/// A gradient where it lies on the device: float32 or bfloat16, dense.
struct GradientPlace {
  const void* gradient = nullptr;
  int64_t offset = 0, count = 0;  ///< of the parameters
  bool bfloat16 = false;
  float decay = 0;
  float* direction = nullptr;  ///< of Muon's matrices: where momentum is put, and the direction is found
  float scale = 0;             ///< of the direction
};

class ImageDevice {
 public:
  virtual ~ImageDevice() = default;
  /// `eight_bit`: with convolutions in eight bits where nothing is kept; InputError where the device has none.
  virtual std::unique_ptr<ImageOps> image_ops(at::ScalarType type, bool eight_bit = false) const = 0;
  virtual std::unique_ptr<DeviceQueue> queue() const = 0;
  /// Pairs of data rows (all: n x dim on the device; channels x height x width each) and noise; `noise` rows x dim or
  /// undefined.
  virtual PairTensors pairs(const ImageOps& ops, const at::Tensor& all, at::IntArrayRef image, const StepTensors& step,
                            const at::Tensor& noise) const = 0;
  /// Gradient of the loss, padded as the operations want it; partial sums of the loss go to `partial` (float64).
  virtual at::Tensor loss_gradient(const ImageOps& ops, const LossSpec& loss, const PredictedTensors& predicted,
                                   const StepTensors& step, const at::Tensor& partial) const = 0;
  virtual int64_t loss_partials() const = 0;
  virtual at::Tensor column_totals(const at::Tensor& sums) const = 0;
  /// A table of gradients for update(); `table` bytes that hold it, on the host.
  virtual at::Tensor segment_table(const std::vector<GradientPlace>& places) const = 0;
  struct UpdateTensors {
    at::Tensor table, header, loss_partial, norm_partial, state, parameters, first, second, ema, bf16_parameters;
    bool directions = false;  ///< some places have one
  };
  /// Clipping, AdamW (or Muon) and EMA over all parameters; a step that is not finite is counted and left out. What is
  /// at the directions in between is made orthogonal by the caller.
  virtual void begin_update(const UpdateTensors& tensors, const OptimiserConstants& constants) const = 0;
  virtual void end_update(const UpdateTensors& tensors, const OptimiserConstants& constants) const = 0;
  virtual int64_t segments(const at::Tensor& table) const = 0;
  /// Sampling: states are rows x dim (channels x height x width), float64. out = sum of factor[k][row] in[k].
  virtual void combine(const at::Tensor& out, const std::vector<at::Tensor>& in, const at::Tensor& factor) const = 0;
  /// Elements first .. of a key's normal stream, in the queue's order.
  virtual void normal(const at::Tensor& out, Key key, int64_t first) const = 0;
  /// What the network is given: in x, at a time; coefficients are rows x 4 (in, time, skip, out), float64.
  virtual void network_input(const at::Tensor& state, const at::Tensor& coefficient, const at::Tensor& input,
                             const at::Tensor& time) const = 0;
  /// velocity = skip x + out F, from the network's output F (rows x height x width x channels, float32).
  virtual void network_output(const at::Tensor& output, const at::Tensor& state, const at::Tensor& coefficient,
                              const at::Tensor& velocity) const = 0;
  /// Settings of the libraries: TF32 in float32 products, and the same bits in every run.
  virtual void configure(bool tf32, bool deterministic) const = 0;
  struct Memory {
    double peak_bytes = 0, total_bytes = 0;
  };
  virtual Memory memory() const = 0;
  virtual void release_cache() const = 0;
  virtual std::string name() const = 0;
  /// Which one of all devices the current one is, whatever a process sees of them.
  virtual std::string identity() const = 0;
  /// How many devices there are, and which of them this thread works on from now on.
  virtual int count() const = 0;
  virtual void select(int index) const = 0;
  /// All gradients of a table in one float32 array, each at its parameters' place.
  virtual void collect(const at::Tensor& table, const at::Tensor& flat) const = 0;
  /// Begins and ends what a profiler looks at.
  virtual void profile(bool on) const = 0;
};

/// The device of this machine; InputError where the CUDA library or a device is missing.
const ImageDevice& image_device();

}  // namespace htfm
