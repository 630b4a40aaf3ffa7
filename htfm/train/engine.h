// Who takes the steps of a training: the CPU, one at a time, or a device, which the loop runs ahead of.
#pragma once

#include "htfm/train/model.h"

namespace htfm {

class Engine {
 public:
  virtual ~Engine() = default;
  /// One step of model.step on these rows; flip[i] says whether row i is mirrored (empty: none). Steps that are not finite are counted and
  /// left out.
  virtual void step(Model& model, Key key, const DataBatch& batch, std::span<const uint8_t> flip) = 0;
  /// Brings the model's counters up to the last step.
  virtual void count(Model&) {}
  /// Begins a new mean of the loss, here and in the model.
  virtual void forget_loss(Model& model) { model.loss_sum = 0, model.loss_count = 0; }
  /// Brings the model's weights and moments up to the last step.
  virtual void store(Model&) {}
  /// What the network with the averaged weights of the last step gives for these pairs.
  virtual at::Tensor predict(const Model& model, const TrainingPairs& pairs) = 0;
  /// Norm of the last gradient that was counted.
  double norm() const { return norm_; }

 protected:
  double norm_ = 0;
};

/// `set`: the whole training set as the model sees it. InputError where the device cannot train this model.
std::unique_ptr<Engine> make_engine(const Model& model, const CoupledData& set, at::Device device);

}  // namespace htfm
