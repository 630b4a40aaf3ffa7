// The interface of a velocity network: what it is given, how it is trained, how it is evaluated.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "htfm/base/api.h"
#include "htfm/net/parameters.h"

namespace htfm HTFM_PUBLIC {

/// One batch for a network: state, time and the standardised path feature (undefined where the clock has none).
/// float32.
struct NetworkInput {
  at::Tensor x;        ///< n x dim (images: n x channels x height x width)
  at::Tensor t;        ///< n
  at::Tensor feature;  ///< n x feature size
};

/// A loss that is a sum over samples. `output` and `gradient` are sample-major, rows x dim; the gradient is of the
/// total loss. Called from several threads, each with rows of its own; returns the rows' share of the loss.
class SampleLoss {
 public:
  virtual ~SampleLoss() = default;
  virtual double operator()(int64_t first_row, int64_t rows, const float* output, float* gradient) const = 0;
};

/// Evaluates a network for samples whose features are fixed: what depends on the feature alone is computed once. One
/// evaluator serves one thread.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// out = network(x, t), both rows x dim, sample-major.
  virtual void operator()(const float* x, double t, float* out) = 0;
  /// The same with a time for each row.
  virtual void operator()(const float* x, const float* t, float* out) = 0;
};

struct UNetLayers;

class Network {
 public:
  virtual ~Network() = default;
  /// The structure of a U-Net, for devices that run it themselves; null for other networks.
  virtual const UNetLayers* unet() const { return nullptr; }
  const ParameterLayout& layout() const { return layout_; }
  virtual int64_t dim() const = 0;
  virtual int64_t feature_size() const = 0;
  /// Samples that an evaluator takes at a time at the most, for good use of the caches.
  virtual int64_t evaluation_rows() const = 0;

  /// Parameters to start training with; as it stands they are drawn as the layout says.
  virtual at::Tensor initial(Key key) const { return layout_.initial(key); }
  /// SHA-256 of the file that the network was made of; empty where there is none. A checkpoint refuses another file.
  virtual std::string file_hash() const { return {}; }

  /// Output for a batch, n x dim.
  virtual at::Tensor forward(const float* parameters, const NetworkInput& input) const = 0;
  /// The same by torch's operations, in float32 on the device of the parameters (flat) and of the input; up to rounding
  /// the output of forward(). Undefined where the network has no such form.
  virtual at::Tensor forward_by_torch(const at::Tensor& parameters, const NetworkInput& input) const;
  /// Loss of a batch and its gradient with respect to the parameters (overwritten). Does not depend on the number of
  /// threads.
  virtual double gradient(const float* parameters, const NetworkInput& input, const SampleLoss& loss,
                          float* gradient) const = 0;
  /// The parts that the gradient of a batch is the sum of, in their order, for processes that share it: how many there
  /// are (a function of the number of rows alone), the first row of a part (of part `parts`: the number of rows), and
  /// the gradient of one part (overwritten) with its share of the loss. A network that is not cut has one part.
  virtual int64_t part_count(int64_t) const { return 1; }
  virtual int64_t part_begin(int64_t rows, int64_t part) const { return part * rows / part_count(rows); }
  virtual double part_gradient(const float* parameters, const NetworkInput& input, const SampleLoss& loss, int64_t,
                               float* out) const {
    return gradient(parameters, input, loss, out);
  }
  /// An evaluator for `rows` samples with the given features (rows x feature size, sample-major; null where there are
  /// none).
  virtual std::unique_ptr<Evaluator> evaluator(const float* parameters, int64_t rows, const float* feature) const = 0;

 protected:
  ParameterLayout layout_;
};

inline at::Tensor Network::forward_by_torch(const at::Tensor&, const NetworkInput&) const { return {}; }

}  // namespace htfm
