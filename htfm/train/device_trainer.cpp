#include "htfm/train/device_trainer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <map>

#include "htfm/base/error.h"

namespace htfm {

namespace {

constexpr size_t kSlots = 8;          // steps that the host may be ahead
constexpr int64_t kHeaderBytes = 64;  // keeps the rows aligned

at::TensorOptions on_host() { return at::TensorOptions().dtype(at::kByte).pinned_memory(true); }

// Data rows of a batch that a process has, at the most.
int64_t most_rows(int64_t batch, const TrainingProcesses& processes) {
  const int64_t size = processes.communicator ? processes.communicator->size() : 1;
  return (batch + size - 1) / size;
}

}  // namespace

// What the host has written for a step that the device may not have read yet.
struct DeviceTrainer::Slot {
  at::Tensor bytes, noise, rows;
};

DeviceTrainer::DeviceTrainer(const Network& network, const OptimiserState& state, const StepState& counters,
                             const at::Tensor& rows, const TrainConfig& config, const LossSpec& loss,
                             DeviceTraffic traffic, const TrainingProcesses& processes)
    : layers_(*network.unet()),
      layout_(network.layout()),
      device_(image_device()),
      config_(config),
      loss_(loss),
      batch_(most_rows(std::min(config.batch, rows.size(0)), processes) * loss.outer * loss.inner),
      image_{layers_.options.channels, layers_.options.height, layers_.options.width},
      precision_(precision_by_name(config.precision)),
      ops_(device_.image_ops(precision_.type)),
      queue_(device_.queue()),
      traffic_(traffic),
      processes_(processes) {
  device_.configure(precision_.tf32, config.deterministic);
  const int64_t features = layers_.options.feature, row_bytes = static_cast<int64_t>(sizeof(StepRow)) * batch_,
                feature_bytes = features * batch_ * 4, bytes = kHeaderBytes + row_bytes + feature_bytes;
  const at::Device where = ops_->device();
  queue_->run([&] {
    const auto options = at::TensorOptions().device(where);
    data_ = traffic.rows ? at::zeros({batch_, rows.size(1)}, options.dtype(at::kFloat)) : rows.to(where);
    step_ = at::zeros({bytes}, options.dtype(at::kByte));
    step_tensors_ = {step_.narrow(0, 0, kHeaderBytes), step_.narrow(0, kHeaderBytes, row_bytes)};
    if (features > 0)
      feature_ = step_.narrow(0, kHeaderBytes + row_bytes, feature_bytes).view(at::kFloat).view({batch_, features});
    if (traffic.noise) noise_ = at::zeros({batch_, rows.size(1)}, options.dtype(at::kFloat));
    if (traffic.errors) errors_ = at::zeros({batch_}, options.dtype(at::kDouble));
    parameters_ = state.parameters.to(where), ema_ = state.ema.to(where);
    first_ = state.first_moment.to(where), second_ = state.second_moment.to(where);
    bf16_parameters_ = precision_.type == at::kFloat ? at::Tensor() : parameters_.to(precision_.type);
    state_ = at::zeros({static_cast<int64_t>(sizeof(StepState))}, options.dtype(at::kByte));
    loss_partial_ = at::zeros({device_.loss_partials()}, options.dtype(at::kDouble));
    put(counters);
  });
  for (size_t k = 0; k < kSlots; ++k) {
    Slot slot;
    slot.bytes = at::zeros({bytes}, on_host());
    if (traffic.noise) slot.noise = at::zeros({batch_, rows.size(1)}, on_host().dtype(at::kFloat));
    if (traffic.rows) slot.rows = at::zeros({batch_, rows.size(1)}, on_host().dtype(at::kFloat));
    slots_.push_back(std::move(slot));
  }
  record();
}

DeviceTrainer::~DeviceTrainer() {
  queue_->wait();
  queue_.reset();  // NCCL waits for the end of every recording that it is part of
}

UNetGradient DeviceTrainer::gradient(const GradientProgress& progress) {
  const PairTensors pairs = device_.pairs(*ops_, data_, image_, step_tensors_, noise_);
  UNetPass pass(layers_, *ops_, {parameters_, bf16_parameters_.defined() ? bf16_parameters_ : parameters_}, true);
  const at::Tensor out = pass.forward(pairs.input, pairs.time, feature_);
  if (traffic_.errors) errors_.copy_(out.sub(pairs.target).square_().mean({1, 2, 3}));
  return pass.backward(device_.loss_gradient(*ops_, loss_, {out, pairs.target}, step_tensors_, loss_partial_),
                       progress);
}

void DeviceTrainer::record() {
  make_directions();
  // Twice without recording: libraries choose their algorithms, and nothing of it reaches the parameters.
  queue_->run([&] {
    for (int k = 0; k < 2; ++k) gradient(), orthogonalise_directions();
  });
  queue_->wait();
  // The table of gradients is known only after recording; its size is known before.
  std::vector<GradientPlace> sizing;
  for (const ParameterInfo& p : layout_.list()) sizing.push_back({nullptr, p.offset, p.size});
  queue_->run([&] {
    const at::Tensor size = device_.segment_table(sizing);
    table_ = at::zeros(size.sizes(), size.options().device(ops_->device()));
    norm_partial_ = at::zeros({device_.segments(size)}, at::TensorOptions().dtype(at::kDouble).device(ops_->device()));
    if (!processes_.communicator) return;
    make_buckets();
    if (processes_.nccl) {
      device_sum_ = make_nccl_sum(*processes_.communicator);
      device_sum_->sum(flat_);  // its own memory is set up before anything is recorded
      device_sum_->sum(loss_partial_);
    } else {
      const auto pinned = on_host().dtype(at::kFloat);
      host_flat_ = at::zeros(flat_.sizes(), pinned), host_sum_ = at::zeros(flat_.sizes(), pinned);
    }
  });
  queue_->wait();
  if (!config_.graph) return;
  const bool on_hosts = processes_.communicator && !processes_.nccl;
  recording_ = queue_->record([&] {
    if (processes_.nccl) return sum_by_nccl(), update();
    find_places();
    on_hosts ? device_.collect(table_, flat_) : update();
  });
  if (on_hosts) second_recording_ = queue_->record([&] { update(); });
  check_places();
  host_table_ = make_table();
  queue_->run([&] { table_.copy_(host_table_); });
  queue_->wait();
}

void DeviceTrainer::make_directions() {
  if (config_.optimiser != "muon") return;
  matrices_ = matrix_groups(layout_);
  queue_->run([&] {
    const auto options = at::TensorOptions().dtype(at::kFloat).device(ops_->device());
    for (const MatrixGroup& g : matrices_) {
      const auto count = static_cast<int64_t>(g.offsets.size());
      directions_.push_back(at::zeros({count, g.rows, g.columns}, options));
      auto* first = directions_.back().mutable_data_ptr<float>();
      for (int64_t k = 0; k < count; ++k)
        direction_of_[g.offsets[static_cast<size_t>(k)]] = {
            first + k * g.rows * g.columns, static_cast<float>(muon_scale(config_.muon_rate, g.rows, g.columns))};
    }
  });
}

void DeviceTrainer::add_direction(GradientPlace& place) const {
  if (const auto found = direction_of_.find(place.offset); found != direction_of_.end())
    place.direction = found->second.first, place.scale = found->second.second;
}

void DeviceTrainer::orthogonalise_directions() {
  const at::ScalarType type = precision_.type;
  for (const at::Tensor& d : directions_) d.copy_(orthogonalised(d, type));
}

void DeviceTrainer::step_without_recording() {
  queue_->run([&] {
    find_places();
    check_places();
    table_.copy_(make_table());
    if (processes_.communicator) device_.collect(table_, flat_);
    if (processes_.nccl) device_sum_->sum(flat_), device_sum_->sum(loss_partial_);
  });
  if (processes_.communicator && !processes_.nccl) sum_on_hosts();
  queue_->run([&] { update(); });
}

Share DeviceTrainer::own_rows(int64_t data_rows) const {
  return processes_.communicator ? share_of(data_rows, *processes_.communicator) : Share{0, data_rows};
}

void DeviceTrainer::find_places(const GradientProgress& progress) {
  const UNetGradient g = gradient(progress);
  const at::Tensor totals = device_.column_totals(g.sums);
  std::map<int64_t, float> decays;
  for (const ParameterInfo& p : layout_.list())
    decays[p.offset] = p.decay ? static_cast<float>(config_.weight_decay) : 0.0f;
  places_.clear();
  kept_ = {totals};
  for (const ParameterGradient& p : g.parameters) {
    kept_.push_back(p.value);
    places_.push_back({p.value.const_data_ptr(), p.parameter, p.value.numel(), p.value.scalar_type() == at::kBFloat16,
                       decays.at(p.parameter)});
    add_direction(places_.back());
  }
  for (const UNetLayers::Column& c : layers_.columns)
    places_.push_back({totals.const_data_ptr<float>() + c.column, c.parameter, c.count, false, decays.at(c.parameter)});
}

void DeviceTrainer::check_places() const {
  std::map<int64_t, int64_t> sizes;
  for (const ParameterInfo& p : layout_.list()) sizes[p.offset] = p.size;
  if (places_.size() != sizes.size()) throw Error("[unet] expected {} gradients, got {}", sizes.size(), places_.size());
  for (const GradientPlace& p : places_)
    if (sizes.at(p.offset) != p.count)
      throw Error("[unet] expected a gradient of {} values, got {}", sizes.at(p.offset), p.count);
}

void DeviceTrainer::update() {
  OptimiserConstants constants;
  constants.beta1 = static_cast<float>(config_.beta1), constants.beta2 = static_cast<float>(config_.beta2);
  constants.epsilon = static_cast<float>(config_.epsilon), constants.clip = static_cast<float>(config_.clip);
  constants.ema = static_cast<float>(config_.ema), constants.ema_warmup = config_.ema_warmup ? 1 : 0;
  constants.muon_momentum = static_cast<float>(config_.muon_momentum);
  const ImageDevice::UpdateTensors tensors{flat_table_.defined() ? flat_table_ : table_,
                                           step_tensors_.header,
                                           loss_partial_,
                                           norm_partial_,
                                           state_,
                                           parameters_,
                                           first_,
                                           second_,
                                           ema_,
                                           bf16_parameters_,
                                           !directions_.empty()};
  device_.begin_update(tensors, constants);
  orthogonalise_directions();
  device_.end_update(tensors, constants);
}

void DeviceTrainer::fill(const PairPlan& plan, std::span<const int64_t> index, std::span<const uint8_t> flip, double lr,
                         Slot& slot) {
  auto* bytes = static_cast<char*>(slot.bytes.mutable_data_ptr());
  // Rows of this process among those of all.
  const auto all = static_cast<int64_t>(plan.rows.size());
  const int64_t dim = data_.size(1), each = loss_.outer * loss_.inner;
  const Share own = own_rows(all / each);
  const int64_t from = own.begin * each, count = own.count() * each;
  StepHeader header;
  header.noise_key = plan.noise.value(), header.lr = static_cast<float>(lr);
  header.first_element = static_cast<uint64_t>(from * dim);
  header.inverse_count = 1 / (static_cast<double>(all) * static_cast<double>(dim));
  std::memcpy(bytes, &header, sizeof header);
  const double* area = plan.source.area.const_data_ptr<double>() + from;
  for (int64_t i = 0; i < batch_; ++i) {
    StepRow row;
    if (i < count) {
      const PairCoefficients& r = plan.rows[from + i];
      const double scale = std::sqrt(2 * area[i]);
      row.index = static_cast<int32_t>(traffic_.rows ? i : index[(from + i) / each]),
      row.flip = flip.empty() ? 0 : flip[(from + i) / each];
      row.time = static_cast<float>(r.time), row.data_in = static_cast<float>(r.data_in),
      row.noise_in = static_cast<float>(r.source_in * scale);
      if (std::isfinite(plan.bound)) row.noise_bound = static_cast<float>(plan.bound / scale);
      row.data_target = static_cast<float>(r.data_target),
      row.noise_target = static_cast<float>(r.source_target * scale);
    }
    std::memcpy(bytes + kHeaderBytes + i * static_cast<int64_t>(sizeof row), &row, sizeof row);
  }
  if (feature_.defined()) {
    char* to = bytes + kHeaderBytes + batch_ * static_cast<int64_t>(sizeof(StepRow));
    std::memset(to, 0, static_cast<size_t>(feature_.nbytes()));
    const int64_t width = feature_.size(1);
    std::memcpy(to, plan.feature.const_data_ptr<float>() + from * width,
                static_cast<size_t>(count * width) * sizeof(float));
  }
  if (traffic_.rows)
    std::memcpy(slot.rows.mutable_data_ptr(), plan.data.const_data_ptr<float>() + from * dim,
                static_cast<size_t>(count * dim) * sizeof(float));
  if (!traffic_.noise) return;
  auto* z = slot.noise.mutable_data_ptr<float>();
  const double* x0 = plan.source.source.const_data_ptr<double>() + from * dim;
  for (int64_t k = 0; k < count * dim; ++k) z[k] = static_cast<float>(x0[k] / std::sqrt(2 * area[k / dim]));
}

void DeviceTrainer::step(const PairPlan& plan, std::span<const int64_t> index, std::span<const uint8_t> flip,
                         double lr) {
  const int64_t each = loss_.outer * loss_.inner;
  if (const int64_t own = own_rows(static_cast<int64_t>(plan.rows.size()) / each).count() * each; own > batch_)
    throw Error("[train] expected a batch of at most {} rows, got {}", batch_, own);
  const auto k = static_cast<size_t>(steps_++) % kSlots;
  queue_->wait_for(k);
  Slot& slot = slots_[k];
  fill(plan, index, flip, lr, slot);
  queue_->run([&] {
    step_.copy_(slot.bytes, true);
    if (traffic_.noise) noise_.copy_(slot.noise, true);
    if (traffic_.rows) data_.copy_(slot.rows, true);
    queue_->mark(k);
  });
  if (recording_ < 0) return step_without_recording();
  queue_->replay(recording_);
  if (second_recording_ < 0) return;
  sum_on_hosts();
  queue_->replay(second_recording_);
}

std::vector<double> DeviceTrainer::row_errors() {
  std::vector<double> out(static_cast<size_t>(batch_));
  queue_->run([&] { std::memcpy(out.data(), errors_.cpu().const_data_ptr(), out.size() * sizeof(double)); });
  return out;
}

at::Tensor DeviceTrainer::predict(const TrainingPairs& pairs) {
  const at::Device where = ops_->device();
  const int64_t n = pairs.x.size(0), channels = image_[0], height = image_[1], width = image_[2];
  at::Tensor result = at::empty({n, pairs.x.size(1)}, at::kFloat);
  queue_->run([&] {
    const at::Tensor compute = precision_.type == at::kFloat ? ema_ : ema_.to(precision_.type);
    UNetPass pass(layers_, *ops_, {ema_, compute}, false);
    for (int64_t first = 0; first < n; first += batch_) {
      const int64_t rows = std::min(batch_, n - first);
      const auto part = [&](const at::Tensor& all) { return all.narrow(0, first, rows).to(where); };
      const at::Tensor input = ops_->empty({rows, height, width, ops_->padded(channels)}).zero_();
      input.narrow(3, 0, channels).copy_(part(pairs.x).view({rows, channels, height, width}).permute({0, 2, 3, 1}));
      const at::Tensor out =
          pass.forward(input, part(pairs.t), pairs.feature.defined() ? part(pairs.feature) : at::Tensor());
      result.narrow(0, first, rows).copy_(out.permute({0, 3, 1, 2}).reshape({rows, -1}));
    }
  });
  return result;
}

StepState DeviceTrainer::counters() {
  StepState s;
  queue_->run([&] {
    const at::Tensor host = state_.cpu();
    std::memcpy(&s, host.const_data_ptr(), sizeof s);
  });
  return s;
}

void DeviceTrainer::put(const StepState& counters) {
  at::Tensor bytes = at::empty({static_cast<int64_t>(sizeof counters)}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), &counters, sizeof counters);
  queue_->run([&] { state_.copy_(bytes); });
}

void DeviceTrainer::reset_loss() {
  StepState s = counters();
  s.loss_sum = 0, s.loss_count = 0;
  put(s);
}

void DeviceTrainer::profile() {
  queue_->wait();
  device_.profile(true);
  queue_->run([&] { gradient(); });
  if (recording_ >= 0) queue_->replay(recording_);
  queue_->wait();
  device_.profile(false);
}

void DeviceTrainer::download(OptimiserState& state) {
  queue_->run([&] {
    state.parameters.copy_(parameters_), state.ema.copy_(ema_);
    state.first_moment.copy_(first_), state.second_moment.copy_(second_);
  });
  state.updates = counters().updates;
}

double DeviceTrainer::peak_bytes() const { return device_.memory().peak_bytes; }

void DeviceTrainer::wait() { queue_->wait(); }

double time_evaluation(const Network& network, const OptimiserState& state, const std::string& precision, int64_t rows,
                       int64_t rounds, bool profile) {
  const ImageDevice& device = image_device();
  const DevicePrecision p = precision_by_name(precision);
  device.configure(p.tf32, false);
  const auto ops = device.image_ops(p.type, p.eight_bit);
  const auto queue = device.queue();
  const UNetLayers& layers = *network.unet();
  const UNetOptions& o = layers.options;
  at::Tensor master, compute, x, t, feature, out;
  queue->run([&] {
    master = state.parameters.to(ops->device()), compute = master.to(p.type);
    x = ops->empty({rows, o.height, o.width, 8}).normal_();
    t = ops->zeros_float({rows}).fill_(0.5);
    if (o.feature > 0) feature = ops->zeros_float({rows, o.feature});
  });
  UNetPass pass(layers, *ops, {master, compute}, false);
  const auto evaluate = [&] { out = pass.forward(x, t, feature); };
  queue->run([&] { evaluate(), evaluate(), out.reset(); });
  queue->wait();
  const int recording = queue->record(evaluate);
  for (int k = 0; k < 5; ++k) queue->replay(recording);
  queue->wait();
  if (profile) device.profile(true);
  const auto started = std::chrono::steady_clock::now();
  for (int64_t k = 0; k < rounds; ++k) queue->replay(recording);
  queue->wait();
  if (profile) device.profile(false);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count() /
         static_cast<double>(rounds);
}

}  // namespace htfm
