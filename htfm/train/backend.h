// Training backends: synchronous CPU, asynchronous CUDA.
#pragma once

#include "htfm/train/training_processes.h"
#include "htfm/train/training_state.h"

namespace htfm {

class TrainingBackend {
 public:
  virtual ~TrainingBackend() = default;
  /// Step model.step on these rows; flip[i] says whether row i is mirrored (empty: none). A step whose loss or gradient
  /// is not finite changes no weights and is counted. May return before the step is done.
  virtual void step(Key key, const DataBatch& batch, std::span<const uint8_t> flip) = 0;
  /// Brings counters and sums of the model and the state up to the last step.
  virtual void sync_counters() = 0;
  /// Brings weights and moments up to the last step.
  virtual void sync_weights() = 0;
  /// Begins a new mean of the loss.
  virtual void reset_loss() = 0;
  /// What the network with the averaged weights of the last step gives for these pairs.
  virtual at::Tensor predict(const TrainingPairs& pairs) = 0;
  /// Norm of the last gradient that was counted.
  double gradient_norm() const { return gradient_norm_; }

 protected:
  double gradient_norm_ = 0;
};

/// A backend that trains this model and state, which must outlive it. `set`: the whole training set as the model sees
/// it. InputError where the device cannot train this model. Processes that train together each have a backend, and take
/// the same steps.
std::unique_ptr<TrainingBackend> make_backend(Training& training, const TrainingData& set, at::Device device,
                                              const TrainingProcesses& processes = {});

}  // namespace htfm
