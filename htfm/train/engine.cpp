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

// The curves of a schedule that train with the network.
class CurveTrainer {
 public:
  explicit CurveTrainer(const Model& model) : optimiser_(model.curve_layout(), model.config().train) {}
  void step(Model& model, const BatchRecipe& recipe, std::span<const double> errors) {
    std::vector<double> exact;
    model.flow().curve_loss(recipe, errors, exact);
    std::vector<float> gradient(static_cast<size_t>(model.curve_layout().size()), 0.0F);
    std::copy(exact.begin(), exact.end(), gradient.begin());
    if (const double norm = optimiser_.norm(gradient.data()); std::isfinite(norm))
      optimiser_.update(model.step, gradient.data(), norm, model.curves);
  }

 private:
  Optimiser optimiser_;
};

class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(const Model& model)
      : optimiser_(model.network().layout(), model.config().train), gradient_(static_cast<size_t>(model.network().layout().size())) {
    if (model.config().path.learn) curves_.emplace(model);
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
      if (curves_) curves_->step(model, recipe, errors);
      model.loss_sum += loss, ++model.loss_count, model.bad_in_a_row = 0;
    } else {
      ++model.skipped, ++model.bad_in_a_row;
    }
    if (curves_) model.use_curves(true);
  }
  at::Tensor predict(const Model& model, const TrainingPairs& pairs) override {
    return model.network().forward(model.state.ema.const_data_ptr<float>(), {pairs.x, pairs.t, pairs.feature});
  }

 private:
  Optimiser optimiser_;
  std::optional<CurveTrainer> curves_;  // where they are learned
  std::vector<float> gradient_;
};

class DeviceEngine final : public Engine {
 public:
  DeviceEngine(const Model& model, const CoupledData& set) : optimiser_(model.network().layout(), model.config().train) {
    const RunConfig& c = model.config();
    StepState counters;
    counters.updates = model.state.updates, counters.skipped = model.skipped, counters.bad_in_a_row = model.bad_in_a_row;
    counters.loss_sum = model.loss_sum, counters.loss_count = model.loss_count;
    if (c.path.learn) curves_.emplace(model);
    // A coupling that looks at the points must see the rows as the network does.
    traffic_ = {.noise = model.method().draws_points(),
                .rows = model.method().changes_rows() || (model.method().draws_points() && c.data.flip),
                .errors = c.path.learn};
    trainer_ = std::make_unique<DeviceTrainer>(model.network(), model.state, counters, set.rows, c.train, model.method().loss(), traffic_);
  }
  void step(Model& model, Key key, const DataBatch& batch, std::span<const uint8_t> flip) override {
    at::Tensor rows = batch.rows;
    if (traffic_.rows && !flip.empty()) mirror(rows = rows.clone(), *model.image(), flip), flip = {};
    if (curves_) model.use_curves(false);
    const BatchRecipe recipe = model.method().recipe(key, {rows, batch.index, batch.position}, model.standardiser, false);
    trainer_->step(recipe, batch.index, flip, optimiser_.learning_rate(model.step));
    if (!curves_) return;
    // The next recipe needs the curves of this step, so the host does not run ahead.
    const std::vector<double> errors = trainer_->row_errors();
    if (trainer_->counters().bad_in_a_row == 0) curves_->step(model, recipe, std::span(errors).first(recipe.rows.size()));
    model.use_curves(true);
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
  at::Tensor predict(const Model&, const TrainingPairs& pairs) override { return trainer_->predict(pairs); }

 private:
  Optimiser optimiser_;
  DeviceTraffic traffic_;
  std::optional<CurveTrainer> curves_;
  std::unique_ptr<DeviceTrainer> trainer_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const Model& model, const CoupledData& set, at::Device device) {
  if (device.is_cpu()) return std::make_unique<CpuEngine>(model);
  if (!model.network().unet()) throw InputError("[--device] expected cpu for net.kind = {}, got cuda", model.config().net.kind);
  return std::make_unique<DeviceEngine>(model, set);
}

}  // namespace htfm
