#include "htfm/train/engine.h"

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/train/device_trainer.h"
#include "htfm/train/loss.h"

namespace htfm {

namespace {

// Mirrors images (rows of channels x height x width) from left to right.
void mirror(at::Tensor& rows, const ImageShape& shape, std::span<const uint8_t> flip) {
  float* x = rows.mutable_data_ptr<float>();
  for (size_t i = 0; i < flip.size(); ++i)
    for (int64_t line = 0; flip[i] != 0 && line < shape.channels * shape.height; ++line) {
      float* from = x + static_cast<int64_t>(i) * shape.size() + line * shape.width;
      std::reverse(from, from + shape.width);
    }
}

class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(const Model& model)
      : optimiser_(model.network().layout(), model.config().train), gradient_(static_cast<size_t>(model.network().layout().size())) {
    if (model.config().path.learn) curves_.emplace(model.curve_layout(), model.config().train);
  }

  void step(Model& model, Key key, const DataBatch& batch, std::span<const uint8_t> flip) override {
    at::Tensor rows = batch.rows;
    if (!flip.empty()) mirror(rows = rows.clone(), *model.image(), flip);
    if (curves_) model.use_curves(false);
    const BatchRecipe recipe = model.method().recipe(key, {rows, batch.index, batch.position}, model.standardiser, true);
    std::vector<double> errors(curves_ ? recipe.rows.size() : 0);
    const double loss = batch_gradient(model.method().loss(), model.network(), model.state.parameters.const_data_ptr<float>(),
                                       Method::pairs(recipe), gradient_.data(), errors);
    norm_ = optimiser_.norm(gradient_.data());
    if (std::isfinite(loss) && std::isfinite(norm_)) {
      optimiser_.update(model.step, gradient_.data(), norm_, model.state);
      if (curves_) step_curves(model, recipe, errors);
      model.loss_sum += loss, ++model.loss_count, model.bad_in_a_row = 0;
    } else {
      ++model.skipped, ++model.bad_in_a_row;
    }
    if (curves_) model.use_curves(true);
  }

 private:
  void step_curves(Model& model, const BatchRecipe& recipe, std::span<const double> errors) {
    std::vector<double> exact;
    model.flow().curve_loss(recipe, errors, exact);
    std::vector<float> gradient(static_cast<size_t>(model.curve_layout().size()), 0.0F);
    std::copy(exact.begin(), exact.end(), gradient.begin());
    if (const double norm = curves_->norm(gradient.data()); std::isfinite(norm))
      curves_->update(model.step, gradient.data(), norm, model.curves);
  }

  Optimiser optimiser_;
  std::optional<Optimiser> curves_;  // of the schedule, where they are learned
  std::vector<float> gradient_;
};

class DeviceEngine final : public Engine {
 public:
  DeviceEngine(const Model& model, const CoupledData& set) : optimiser_(model.network().layout(), model.config().train) {
    StepState counters;
    counters.updates = model.state.updates, counters.skipped = model.skipped, counters.bad_in_a_row = model.bad_in_a_row;
    counters.loss_sum = model.loss_sum, counters.loss_count = model.loss_count;
    trainer_ = std::make_unique<DeviceTrainer>(model.network(), model.state, counters, set.rows, model.config().train,
                                               model.method().loss(), model.method().draws_points());
  }
  void step(Model& model, Key key, const DataBatch& batch, std::span<const uint8_t> flip) override {
    trainer_->step(model.method().recipe(key, batch, model.standardiser, false), batch.index, flip, optimiser_.learning_rate(model.step));
  }
  void count(Model& model) override {
    const StepState s = trainer_->counters();
    model.skipped = s.skipped, model.bad_in_a_row = s.bad_in_a_row, model.loss_sum = s.loss_sum, model.loss_count = s.loss_count;
    norm_ = s.norm;
  }
  void forget_loss(Model& model) override {
    trainer_->reset_loss();
    Engine::forget_loss(model);
  }
  void store(Model& model) override { trainer_->download(model.state); }

 private:
  Optimiser optimiser_;
  std::unique_ptr<DeviceTrainer> trainer_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const Model& model, const CoupledData& set, at::Device device) {
  if (device.is_cpu()) return std::make_unique<CpuEngine>(model);
  const RunConfig& c = model.config();
  if (c.path.learn) throw InputError("[path.learn] expected --device cpu, got cuda");
  if (!model.network().unet()) throw InputError("[--device] expected cpu for net.kind = {}, got cuda", c.net.kind);
  if (c.data.tail != "empirical") throw InputError("[data.tail] expected empirical on a device, got {}", c.data.tail);
  if (c.train.validation > 0) throw InputError("[train.validation] expected 0 on a device, got {}", c.train.validation);
  return std::make_unique<DeviceEngine>(model, set);
}

}  // namespace htfm
