#include "htfm/fit/calibrated_sample.h"

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/model/checkpoint.h"
#include "htfm/train/training_state.h"

namespace htfm {

SampleResult calibrated_sample(Model& model, SampleOptions options, int64_t most) {
  constexpr int64_t kDrawsOfGroup = 300'000;  // its .999 quantile is then known to a fiftieth of its excess
  options.as_drawn = needs_calibration(model);
  const int64_t n = options.n, groups = model.transform().groups().count() - 1;
  if (options.as_drawn && groups > 0) options.n = std::max(n, std::min(most, groups * kDrawsOfGroup));
  SampleResult result = sample(model, options);
  if (!options.as_drawn) return result;
  model.calibrate(result.samples, result.conditions);
  if (options.n > n) {
    result.samples = result.samples.narrow(0, 0, n);
    if (result.area.defined()) result.area = result.area.narrow(0, 0, n);
    if (result.conditions.defined()) result.conditions = result.conditions.narrow(0, 0, n);
  }
  result.samples = model.to_data(result.samples, discrete_key(options), options.first, result.conditions);
  return result;
}

bool needs_calibration(const Model& model) {
  return model.transform().scored() || !model.transform().discrete().empty() ||
         (model.field() && model.field()->scored());
}

FieldCalibration calibrate_checkpoint(const std::string& path, const SampleOptions& asked) {
  const bool trainable = Checkpoint::read(path).record.contains("updates");
  std::optional<Training> training;
  std::optional<Model> alone;
  if (trainable)
    training.emplace(load_checkpoint(path));
  else
    alone.emplace(Model::load(path));
  Model& model = trainable ? training->model : *alone;
  if (!model.field() || !model.field()->scored())
    throw InputError("[calibrate] {}: expected a run of fields prepared with --transform scores, got one of {}", path,
                     model.data_origin());
  SampleOptions options = asked;
  options.as_drawn = true;
  const SampleResult drawn = sample(model, options);
  const int64_t plane = model.image()->height * model.image()->width;
  const auto wet = [&] {
    if (!model.field()->threshold) return kNan;
    return model.field()->invert(drawn.samples).narrow(1, 0, plane).gt(0).to(at::kDouble).mean().item<double>();
  };
  FieldCalibration out{.wet_before = wet(), .diverged = drawn.diverged, .seconds = drawn.seconds};
  model.calibrate(drawn.samples);
  out.wet_after = wet();
  out.wet_train = model.field()->threshold ? model.field()->laws.front().wet_share() : kNan;
  trainable ? save_checkpoint(path, model, training->state) : model.save(path);
  return out;
}

}  // namespace htfm
