#include "htfm/train/trainer.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "htfm/base/dispatch.h"
#include "htfm/base/error.h"
#include "htfm/base/seconds.h"
#include "htfm/condition/focus.h"
#include "htfm/data/condition_columns.h"
#include "htfm/io/file.h"
#include "htfm/io/json_lines.h"
#include "htfm/io/tensorboard.h"
#include "htfm/train/backend.h"
#include "htfm/train/batches.h"
#include "htfm/train/loss.h"

namespace htfm {

namespace {

using Stopwatch = std::chrono::steady_clock;

constexpr double kStatusSeconds = 1;  // between two calls for a status line

// What the network is told of the conditions of these rows; undefined where nothing is given.
at::Tensor encoded_conditions(const Model& model, const TrainingData& set, std::span<const int64_t> index) {
  if (!model.condition().there()) return {};
  return model.condition().encode(set.conditions.index_select(
      0, at::from_blob(const_cast<int64_t*>(index.data()), {static_cast<int64_t>(index.size())}, at::kLong)));
}

// How often rows at these places are drawn against each other; empty where all are drawn alike.
std::vector<double> row_weights(const Model& model, const TrainingData& set, const std::vector<int64_t>& places) {
  const double focus = model.config().condition.focus;
  if (!(focus > 0)) return {};
  const std::vector<double> all = focus_weights(model.condition().field().field(), set.conditions, focus);
  std::vector<double> out;
  for (const int64_t place : places) out.push_back(all[static_cast<size_t>(place)]);
  return out;
}

int64_t validation_rows(const RunConfig& config, int64_t rows) {
  return config.train.validation > 0
             ? std::clamp<int64_t>(std::llround(config.train.validation * static_cast<double>(rows)), 1,
                                   std::max<int64_t>(1, rows - 1))
             : 0;
}

// The loss on rows that are not trained on, over pairs that stay the same: each row meets several sources and times.
class Validation {
 public:
  Validation(const Model& model, const TrainingData& set, std::vector<int64_t> places)
      : method_(model.config().make_method(model.clock(), model.data_scale())),
        key_(Key(static_cast<uint64_t>(model.config().seed)).child("validation")) {
    std::map<std::string, at::Tensor> learned;  // what the model's method knows of the data, in the same bits
    model.method().save_state(learned);
    method_->load_state(learned, "validation");
    method_->fit_to_data(set);
    const size_t pairs = std::min<size_t>(kPairs, kValues / static_cast<size_t>(set.rows.size(1))),
                 repeats = std::max<size_t>(1, pairs / places.size());
    for (size_t k = 0; k < repeats; ++k) index_.insert(index_.end(), places.begin(), places.end());
    rows_ = select_rows(set.rows, index_);
    condition_ = encoded_conditions(model, set, index_);
  }
  double operator()(const Model& model, TrainingBackend& backend) const {
    RunningStandardiser standardiser = model.standardiser;  // it must not learn from these rows
    const TrainingPairs pairs = method_->pairs(key_, {rows_, index_, 0, condition_}, standardiser);
    return batch_loss(method_->loss(), backend.predict(pairs), pairs.target);
  }

 private:
  static constexpr size_t kPairs = 8192, kValues = 1 << 22;  // fewer pairs of long rows
  std::unique_ptr<Method> method_;  // its own, so that pools of the training are not drawn again and again
  Key key_;
  std::vector<int64_t> index_;
  at::Tensor rows_, condition_;
};

// Which rows of a batch are mirrored.
std::vector<uint8_t> flips(Key key, size_t rows) {
  std::vector<uint8_t> out(rows);
  for (size_t i = 0; i < rows; ++i) out[i] = key.uniform(i) < 0.5 ? 1 : 0;
  return out;
}

// Whether validation has not become better for long enough.
bool out_of_patience(const Model& model) {
  const TrainConfig& c = model.config().train;
  return model.trained.best.defined() && model.step - model.best_step >= c.patience * c.validate_steps;
}

// What a run leaves on disk while it goes on: log.jsonl and events for TensorBoard.
class RunLog {
 public:
  RunLog(const RunFolder& folder, int64_t step) : events_(folder.events(), step), log_(folder.log()) {}
  void write(const TrainProgress& p) {
    nlohmann::json line{{"step", p.step}, {"loss", p.loss},       {"grad_norm", p.norm},
                        {"lr", p.lr},     {"skipped", p.skipped}, {"seconds", p.seconds}};
    if (p.validation) line["validation"] = *p.validation, events_.scalar("train/validation", p.step, *p.validation);
    log_.append(line);
    events_.scalar("train/loss", p.step, p.loss);
    events_.scalar("train/grad_norm", p.step, p.norm);
    events_.scalar("train/lr", p.step, p.lr);
    events_.flush();
  }
  /// Why the clock is what it is, where the data chose it.
  void explain(const Model& model) {
    log_.append({{"step", 0}, {"clock", model.clock().describe()}, {"explanation", model.clock_explanation()}});
  }
  void sync() { log_.sync(); }

 private:
  EventWriter events_;
  JsonLines log_;
};

// A training to go on with, and its data as it sees them.
struct Started {
  Training training;
  TrainingData set;
};

Started create(const RunConfig& config, const Dataset& data) {
  TrainingData set;
  Model model(config, data, &set);
  TrainingState state = TrainingState::initial(model);
  return {{std::move(model), std::move(state)}, std::move(set)};
}

// The newest checkpoint and the one before, empty where there is none: as rank 0 sees the folder.
std::array<std::string, 2> newest_checkpoints(const RunFolder& folder, Communicator* processes) {
  std::array<std::string, 2> out;
  const auto all = folder.list();
  for (size_t k = 0; k < std::min(out.size(), all.size()); ++k) out[k] = all[all.size() - 1 - k].path;
  if (processes)
    for (std::string& path : out) path = broadcast_text(*processes, path);
  return out;
}

// The value of a key as text.
std::string value_of(const RunConfig& config, const std::string& key) {
  for (const auto& [name, value] : config_entries(config))
    if (name == key) return value;
  return "none";
}

// A new training, or the newest checkpoint after a check that it belongs to this configuration and data.
Started create_or_resume(const RunConfig& config, const Dataset& data, const RunFolder& folder,
                         Communicator* processes) {
  const auto [newest, before] = newest_checkpoints(folder, processes);
  if (newest.empty()) return create(config, data);
  Training training = [&, &newest = newest, &before = before] {
    try {
      return load_checkpoint(newest);
    } catch (const InputError& e) {
      if (before.empty()) throw;
      throw InputError("{}; the one before is {}: to continue from there, remove the newer file", e.what(), before);
    }
  }();
  Model& model = training.model;
  for (const std::string& key : config_differences(config, model.config()))
    if (!may_change_on_resume(key) || (key == "train.epochs" && config.train.cooldown > 0))
      throw InputError(
          "[{}] expected {} on --resume, as the run in {} has it, got {} (htfm train --resume -o {} keeps all "
          "settings)",
          key, value_of(model.config(), key), folder.path(), value_of(config, key), folder.path());
  if (model.data_hash() != data.hash)
    throw InputError("[data] expected the data that {} was trained on, got other content ({})", folder.path(),
                     data.origin);
  model.set_config(config);
  TrainingData set = model.fit_to_data(data);
  return {std::move(training), std::move(set)};
}

}  // namespace

int64_t total_steps(const RunConfig& config, int64_t rows) {
  const int64_t trained = rows - validation_rows(config, rows);
  return config.train.epochs * ((trained + config.train.batch - 1) / config.train.batch);
}

namespace {

// Processes that train together must do the same.
void check_processes(Communicator& processes, const RunConfig& config, const Dataset& data,
                     const TrainOptions& options) {
  check_equal(processes, "instruction set (HTFM_ISA)", isa_name());
  // By name: the keys in which a process differs from rank 0. The same data may lie elsewhere.
  const RunConfig first = parse_saved_config(broadcast_text(processes, format_config(config)), "rank 0");
  std::string keys;
  for (const std::string& key : config_differences(config, first))
    if (key != "data.path") keys += (keys.empty() ? "" : ", ") + key;
  const std::vector<std::string> differ = gather_texts(processes, keys),
                                 hosts = gather_texts(processes, processes.host());
  for (size_t r = 0; r < differ.size(); ++r)
    if (!differ[r].empty())
      throw InputError("[{}] expected the same in every process, got another on rank {} ({}) than on rank 0 ({})",
                       differ[r], r, hosts[r], hosts[0]);
  check_equal(processes, "data", fmt::format("{} of hash {}", data.origin, data.hash));
  check_equal(processes, "device", options.device.is_cpu() ? "cpu" : "cuda");
}

// While it lives, processes draw the clocks of a model's batches together.
class SharedDraws {
 public:
  SharedDraws(Model& model, Communicator* processes) : model_(model) { model_.share_draws(processes); }
  ~SharedDraws() { model_.share_draws(nullptr); }
  SharedDraws(const SharedDraws&) = delete;
  SharedDraws& operator=(const SharedDraws&) = delete;

 private:
  Model& model_;
};

// Whether the training was asked to stop: in any of the processes. Devices are some steps behind their host, which
// therefore need not ask at every step.
bool stop_asked(const TrainOptions& options, int64_t step) {
  const bool own = options.stop && options.stop();
  Communicator* processes = options.processes.communicator;
  if (!processes) return own;
  constexpr int64_t kDeviceSteps = 16;
  if (!options.device.is_cpu() && step % kDeviceSteps != 0) return false;
  const std::vector<double> all = gather_values(*processes, own ? 1 : 0);
  return std::ranges::any_of(all, [](double v) { return v > 0; });
}

// The training itself. The folder, where there is one, is this process's.
Training run(const RunConfig& config, const Dataset& read, const TrainOptions& options) {
  const Dataset data = with_condition_file(read, config.condition);
  const RunFolder folder(options.folder);
  Communicator* processes = options.processes.communicator;
  if (processes) check_processes(*processes, config, data, options);
  const bool has_folder = !options.folder.empty(), on_disk = has_folder && options.processes.first();
  auto [training, set] = has_folder ? create_or_resume(config, data, folder, processes) : create(config, data);
  Model& model = training.model;
  TrainingState& state = training.state;
  if (options.discrete) {
    const DiscretePart& states = model.transform().discrete();
    if (options.note && !states.empty() && !states.learned())
      options.note(fmt::format("Learning {} discrete part{} of the table.", states.list().size(),
                               states.list().size() == 1 ? "" : "s"));
    model.learn_discrete(data);
  }
  if (processes)
    check_equal(*processes, "model", fmt::format("weights {} at step {}", model.weights_hash(), model.step));
  std::optional<RunLog> log;
  if (on_disk) {
    JsonLines::keep(folder.log(), [&](const nlohmann::json& line) {
      if (line.contains("step") && !line["step"].is_number_integer())
        throw InputError(
            "[jsonl] {}: expected whole numbers for 'step', got {} (to continue, remove the line or the file)",
            folder.log(), line["step"].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      return line.value("step", int64_t{0}) <= model.step && (model.step > 0 || !line.contains("explanation"));
    });
    atomic_write(folder.config(), format_config(config));
    log.emplace(folder, model.step);
    if (model.step == 0 && !model.clock_explanation().empty()) log->explain(model);
  }
  if (options.started && options.processes.first()) options.started(model);

  const Key key = Key(static_cast<uint64_t>(config.seed)).child("train");
  const int64_t rows = data.rows.size(0), held_back = validation_rows(config, rows);
  if (held_back >= rows)
    throw InputError("[train.validation] expected at least two rows, to hold some out, got {}", rows);
  std::vector<int64_t> places(static_cast<size_t>(rows));
  std::iota(places.begin(), places.end(), int64_t{0});
  if (held_back > 0) fill_permutation(key.child("apart"), rows, places.data());
  std::optional<Validation> validation;
  if (held_back > 0) validation.emplace(model, set, std::vector<int64_t>(places.end() - held_back, places.end()));
  places.resize(static_cast<size_t>(rows - held_back));
  std::vector<double> weights = row_weights(model, set, places);
  Batches batches(key.child("order"), set, std::move(places), config.train.batch, model.step,
                  parse_groups(config.data.independent, set.rows.size(1)), std::move(weights));
  const int64_t steps = total_steps(config, rows), first_step = model.step;
  const Optimiser optimiser(model.network().layout(), config.train, steps);  // for the learning rate
  const std::unique_ptr<TrainingBackend> backend = make_backend(training, set, options.device, options.processes);
  // The host of a device has time enough to draw alone.
  std::optional<SharedDraws> together(std::in_place, model, options.device.is_cpu() ? processes : nullptr);
  const double waited_before = processes ? processes->waited() : 0;
  const auto started = Stopwatch::now();
  auto shown = started;
  const auto progress_now = [&](int64_t step, bool last) {
    const double seconds = seconds_since(started);
    return TrainProgress{model.step,
                         steps,
                         state.loss_count > 0 ? state.loss_sum / static_cast<double>(state.loss_count) : std::nan(""),
                         backend->gradient_norm(),
                         optimiser.learning_rate(step),
                         model.skipped,
                         seconds,
                         static_cast<double>(model.step - first_step) / std::max(seconds, 1e-9),
                         last,
                         {},
                         {}};
  };

  while (model.step < steps && !out_of_patience(model)) {
    const int64_t step = model.step;
    const Key own = key.child(static_cast<uint64_t>(step));
    DataBatch batch = batches.at_step(step);
    batch.condition = encoded_conditions(model, set, batch.index);
    if (config.condition.drop > 0 && model.condition().there())
      model.condition().leave_out(batch.condition, config.condition.drop, own.child("condition"));
    backend->step(own, batch, config.data.flip ? flips(own.child("flip"), batch.index.size()) : std::vector<uint8_t>());
    ++model.step;

    std::optional<double> validated;
    if (validation && (model.step == steps || model.step % config.train.validate_steps == 0)) {
      validated = (*validation)(model, *backend);
      if (*validated < model.best_loss || (!model.trained.best.defined() && std::isfinite(*validated))) {
        backend->sync_weights();
        model.trained.best = model.trained.ema.clone(), model.best_loss = *validated, model.best_step = model.step;
      }
    }
    const bool last = model.step == steps || out_of_patience(model), stopped = stop_asked(options, model.step) && !last,
               report = last || model.step % config.train.log_steps == 0,
               save = on_disk && (last || stopped || model.step % config.train.checkpoint_steps == 0);
    if (report || save || options.device.is_cpu()) {
      backend->sync_counters();
      if (state.bad_in_a_row >= config.train.max_bad_steps)
        throw Error("[train] step {}: loss or gradient not finite in {} steps in a row; the last good checkpoint is {}",
                    model.step, state.bad_in_a_row,
                    on_disk && !folder.list().empty() ? folder.list().back().path : "none");
    }
    if (last && model.skipped >= model.step)
      throw InputError(
          "[train] expected steps with a finite loss and gradient, got none in {}: are there values in the data that "
          "are far larger than all others? (data.normalise can transform them)",
          model.step);
    if (validated || report) {
      TrainProgress progress = progress_now(step, last);
      progress.validation = validated;
      backend->reset_loss();
      if (processes)
        progress.waiting =
            gather_values(*processes, (processes->waited() - waited_before) / std::max(progress.seconds, 1e-9));
      if (log) log->write(progress);
      if (options.report && options.processes.first()) options.report(progress);
    } else if (options.status && options.device.is_cpu() && options.processes.first() &&
               seconds_since(shown) >= kStatusSeconds) {
      options.status(progress_now(step, false));
      shown = Stopwatch::now();
    }
    if (last || save) backend->sync_weights();
    if (save) {
      log->sync();
      save_checkpoint(folder.checkpoint(model.step), model, state);
      folder.prune(config.train.keep, config.train.keep_every);
    }
    if (stopped && processes) processes->barrier();  // until the checkpoint is there
    if (stopped)
      throw Interrupted("stopped after step {} of {}{}", model.step, steps,
                        on_disk ? ": the checkpoint is " + folder.checkpoint(model.step) : "");
  }
  together.reset();  // the model moves
  return std::move(training);
}

}  // namespace

Model train(const RunConfig& config, const TrainOptions& options) {
  return train(config, load_dataset(config), options);
}

Model train(const RunConfig& config, const Dataset& data, const TrainOptions& options) {
  return run_training(config, data, options).model;
}

Training run_training(const RunConfig& config, const Dataset& data, const TrainOptions& options) {
  if (options.folder.empty()) return run(config, data, options);
  const RunFolder folder(options.folder);
  std::vector<std::string> made;
  std::optional<FolderLock> lock;
  on_first(options.processes.communicator, [&] {
    if (!options.resume && folder.exists())
      throw InputError("[run] {}: expected an empty folder or --resume, got a folder that holds a run", folder.path());
    made = folder.missing();
    folder.make();
    lock.emplace(folder.path());
    if (options.note && !lock->warning().empty()) options.note(lock->warning());
    folder.clean();
  });
  try {
    return run(config, data, options);
  } catch (const InputError&) {
    // Without a checkpoint there is nothing to go on from.
    std::error_code ignored;
    if (options.processes.first() && folder.list().empty())
      for (const std::string& path : made) std::filesystem::remove_all(path, ignored);
    throw;
  }
}

}  // namespace htfm
