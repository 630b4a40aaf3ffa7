#include "htfm/train/backend.h"

#include <cmath>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/data/row_memory.h"
#include "htfm/method/flow_matching.h"
#include "htfm/train/device_trainer.h"
#include "htfm/train/loss.h"
#include "htfm/train/shared_gradient.h"
#include "htfm/train/trainer.h"

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

// Trains the curves of a schedule beside the network.
class CurveTrainer {
 public:
  CurveTrainer(const Model& model, int64_t steps) : optimiser_(model.curve_layout(), model.config().train, steps) {}
  void step(Training& training, const PairPlan& plan, std::span<const double> errors) {
    const Model& model = training.model;
    std::vector<double> exact;
    model.method().flow()->curve_loss(plan, errors, exact);
    std::vector<float> gradient(static_cast<size_t>(model.curve_layout().size()), 0.0F);
    std::copy(exact.begin(), exact.end(), gradient.begin());
    if (const double norm = optimiser_.norm(gradient.data()); std::isfinite(norm))
      optimiser_.update(model.step, gradient.data(), norm, training.state.curves);
  }

 private:
  Optimiser optimiser_;
};

class CpuBackend final : public TrainingBackend {
 public:
  CpuBackend(Training& training, int64_t steps, Communicator* processes)
      : processes_(processes),
        model_(training.model),
        state_(training.state),
        training_(training),
        optimiser_(model_.network().layout(), model_.config().train, steps),
        gradient_(static_cast<size_t>(model_.network().layout().size())) {
    if (model_.config().path.learn) curves_.emplace(model_, steps);
  }

  void step(Key key, const DataBatch& batch, std::span<const uint8_t> flip) override {
    at::Tensor rows = batch.rows;
    if (!flip.empty()) mirror(rows = rows.clone(), *model_.image(), flip);
    if (curves_) model_.use_curves(false);
    const PairPlan plan =
        model_.method().plan_pairs(key, {rows, batch.index, batch.position, batch.condition}, model_.standardiser);
    std::vector<double> errors(curves_ ? plan.rows.size() : 0);
    const LossSpec spec = model_.method().loss();
    const auto n = static_cast<int64_t>(plan.rows.size());
    // The median is chosen among all rows.
    const Share own =
        processes_ && spec.kind != LossKind::median ? own_rows(model_.network(), n, *processes_) : Share{0, n};
    const double loss = batch_gradient(spec, model_.network(), state_.network.parameters.const_data_ptr<float>(),
                                       Method::pairs(plan, own.begin, own.end), gradient_.data(), errors, processes_);
    gradient_norm_ = optimiser_.norm(gradient_.data());
    if (std::isfinite(loss) && std::isfinite(gradient_norm_)) {
      optimiser_.update(model_.step, gradient_.data(), gradient_norm_, state_.network);
      if (curves_) curves_->step(training_, plan, errors);
      state_.loss_sum += loss, ++state_.loss_count, state_.bad_in_a_row = 0;
    } else {
      ++model_.skipped, ++state_.bad_in_a_row;
    }
    if (curves_) model_.use_curves(true);
  }
  void sync_counters() override {}
  void sync_weights() override {}
  void reset_loss() override { state_.loss_sum = 0, state_.loss_count = 0; }
  at::Tensor predict(const TrainingPairs& pairs) override {
    return model_.network().forward(state_.network.ema.const_data_ptr<float>(), {pairs.x, pairs.t, pairs.feature});
  }

 private:
  Communicator* processes_;
  Model& model_;
  TrainingState& state_;
  Training& training_;
  Optimiser optimiser_;
  std::optional<CurveTrainer> curves_;  // where they are learned
  std::vector<float> gradient_;
};

// Whether the whole set may lie on the device beside what the network needs there.
bool fits_device(const at::Tensor& rows) {
  const auto bytes = static_cast<double>(rows.nbytes());
  if (const std::optional<int64_t> asked = asked_row_memory()) return bytes <= static_cast<double>(*asked);
  return bytes <= image_device().memory().total_bytes / 4;
}

// What the plans of this training hold that a device cannot make itself, as a plan of its first rows shows.
DeviceTraffic traffic_of(const Model& model, const TrainingData& set) {
  const int64_t rows = std::min(model.config().train.batch, set.rows.size(0));
  std::vector<int64_t> index(static_cast<size_t>(rows));
  std::iota(index.begin(), index.end(), int64_t{0});
  RunningStandardiser standardiser = model.standardiser;  // it must not learn from this plan
  const PairPlan plan = model.method().plan_pairs(Key(0), {set.rows.narrow(0, 0, rows), index, 0}, standardiser);
  const bool points = plan.source.source.defined();
  // Rows that leave a device no room are sent as they are needed; a coupling that looks at the points must see the
  // rows as the network does.
  return {.noise = points,
          .rows = plan.data_changed || (points && model.config().data.flip) || !fits_device(set.rows),
          .errors = model.config().path.learn};
}

class CudaBackend final : public TrainingBackend {
 public:
  CudaBackend(Training& training, const TrainingData& set, int64_t steps, const TrainingProcesses& processes)
      : processes_(processes.communicator),
        model_(training.model),
        state_(training.state),
        training_(training),
        optimiser_(model_.network().layout(), model_.config().train, steps),
        traffic_(traffic_of(model_, set)) {
    StepState counters;
    counters.updates = state_.network.updates, counters.skipped = model_.skipped,
    counters.bad_in_a_row = state_.bad_in_a_row;
    counters.loss_sum = state_.loss_sum, counters.loss_count = state_.loss_count;
    if (model_.config().path.learn) curves_.emplace(model_, steps);
    trainer_ = std::make_unique<DeviceTrainer>(model_.network(), state_.network, counters, set.rows,
                                               model_.config().train, model_.method().loss(), traffic_, processes);
  }
  void step(Key key, const DataBatch& batch, std::span<const uint8_t> flip) override {
    at::Tensor rows = batch.rows;
    if (traffic_.rows && !flip.empty()) mirror(rows = rows.clone(), *model_.image(), flip), flip = {};
    if (curves_) model_.use_curves(false);
    const PairPlan plan =
        model_.method().plan_pairs(key, {rows, batch.index, batch.position, batch.condition}, model_.standardiser);
    trainer_->step(plan, batch.index, flip, optimiser_.learning_rate(model_.step));
    if (!curves_) return;
    // The next plan needs the curves of this step, so the host does not run ahead.
    const std::vector<double> errors = all_errors(static_cast<int64_t>(plan.rows.size()));
    if (trainer_->counters().bad_in_a_row == 0) curves_->step(training_, plan, errors);
    model_.use_curves(true);
  }
  void sync_counters() override {
    const StepState s = trainer_->counters();
    model_.skipped = s.skipped, state_.bad_in_a_row = s.bad_in_a_row, state_.loss_sum = s.loss_sum,
    state_.loss_count = s.loss_count;
    gradient_norm_ = s.norm;
  }
  void sync_weights() override { trainer_->download(state_.network); }
  void reset_loss() override {
    trainer_->reset_loss();
    state_.loss_sum = 0, state_.loss_count = 0;
  }
  at::Tensor predict(const TrainingPairs& pairs) override { return trainer_->predict(pairs); }

 private:
  // Of the rows of all processes.
  std::vector<double> all_errors(int64_t rows) {
    std::vector<double> own = trainer_->row_errors();
    if (!processes_) return own.resize(static_cast<size_t>(rows)), own;
    const LossSpec loss = model_.method().loss();
    const int64_t each = loss.outer * loss.inner;
    std::vector<size_t> bytes;
    for (int r = 0; r < processes_->size(); ++r)
      bytes.push_back(static_cast<size_t>(share_of(rows / each, r, processes_->size()).count() * each) *
                      sizeof(double));
    std::vector<double> all(static_cast<size_t>(rows));
    processes_->all_gather(own.data(), all.data(), bytes);
    return all;
  }

  Communicator* processes_;
  Model& model_;
  TrainingState& state_;
  Training& training_;
  Optimiser optimiser_;
  DeviceTraffic traffic_;
  std::optional<CurveTrainer> curves_;
  std::unique_ptr<DeviceTrainer> trainer_;
};

}  // namespace

std::unique_ptr<TrainingBackend> make_backend(Training& training, const TrainingData& set, at::Device device,
                                              const TrainingProcesses& processes) {
  const int64_t steps = total_steps(training.model.config(), set.rows.size(0));
  if (device.is_cpu()) return std::make_unique<CpuBackend>(training, steps, processes.communicator);
  if (!training.model.network().unet())
    throw InputError("[--device] expected cpu for net.kind = {}, got cuda", training.model.config().net.kind);
  return std::make_unique<CudaBackend>(training, set, steps, processes);
}

}  // namespace htfm
