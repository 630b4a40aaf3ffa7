#include "htfm/train/training_state.h"

#include "htfm/base/error.h"
#include "htfm/io/json_whole.h"
#include "htfm/io/text.h"
#include "htfm/model/checkpoint.h"

namespace htfm {

namespace {

void save_moments(const ParameterLayout& layout, const OptimiserState& state, const std::string& prefix,
                  Checkpoint& file) {
  save_parameters(layout, state.first_moment, prefix + "adam.m.", file);
  save_parameters(layout, state.second_moment, prefix + "adam.v.", file);
}

OptimiserState load_moments(const ParameterLayout& layout, const TrainedWeights& weights, const std::string& prefix,
                            int64_t updates, const Checkpoint& file) {
  return {weights.parameters, weights.ema, load_parameters(layout, prefix + "adam.m.", file),
          load_parameters(layout, prefix + "adam.v.", file), updates};
}

}  // namespace

TrainingState TrainingState::initial(const Model& model) {
  TrainingState state;
  state.network = OptimiserState::initial(model.trained.parameters, model.trained.ema);
  if (model.config().path.learn) state.curves = OptimiserState::initial(model.curves.parameters, model.curves.ema);
  return state;
}

void save_checkpoint(const std::string& path, const Model& model, const TrainingState& state) {
  Checkpoint file{path, {}};
  save_model(model, file);
  save_moments(model.network().layout(), state.network, "", file);
  if (model.config().path.learn) save_moments(model.curve_layout(), state.curves, "schedule.", file);
  file.record["updates"] = state.network.updates;
  if (model.config().path.learn) file.record["curve_updates"] = state.curves.updates;
  file.record["bad_in_a_row"] = state.bad_in_a_row;
  file.record["loss_sum"] = state.loss_sum, file.record["loss_count"] = state.loss_count;
  file.write();
}

Training load_checkpoint(const std::string& path) {
  const Checkpoint file = Checkpoint::read(path);
  Training out{load_model(file), {}};
  if (!file.record.contains("updates"))
    throw InputError("[checkpoint] {}: expected the state of a training run to continue from, got only a model", path);
  const bool learn = out.model.config().path.learn;
  int64_t updates = 0, curve_updates = 0;
  try {
    updates = json_whole(file.record.at("updates"));
    if (learn) curve_updates = json_whole(file.record.at("curve_updates"));
    out.state.bad_in_a_row = json_whole(file.record.at("bad_in_a_row"));
    out.state.loss_sum = file.record.at("loss_sum");
    out.state.loss_count = json_whole(file.record.at("loss_count"));
  } catch (const nlohmann::json::exception& e) {
    throw InputError("[checkpoint] {}: expected the counters of a training run in its metadata, got: {}", path,
                     json_reason(e.what()));
  } catch (const InputError& e) {
    throw InputError("[checkpoint] {}: damaged: in the counters of a training run {}", path, e.what());
  }
  out.state.network = load_moments(out.model.network().layout(), out.model.trained, "", updates, file);
  if (learn)
    out.state.curves = load_moments(out.model.curve_layout(), out.model.curves, "schedule.", curve_updates, file);
  return out;
}

}  // namespace htfm
