#include "htfm/fit/calibrated_sample.h"

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/field/field_set.h"
#include "htfm/fit/spectrum_fit.h"
#include "htfm/model/checkpoint.h"
#include "htfm/sample/training_set.h"
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

FieldCalibration calibrate_fields(Model& model, const SampleOptions& asked, bool spectrum) {
  if (!model.field() || !model.field()->scored())
    throw InputError("[calibrate] expected a run of fields prepared with --transform scores, got one of {}",
                     model.data_origin());
  const int64_t height = model.image()->height, width = model.image()->width;
  std::vector<std::vector<double>> spectra;
  if (spectrum) {
    check_spectrum_sides(height, width);
    const std::optional<FieldSet> set = open_training_set(model);
    if (!set)
      throw InputError("[--spectrum] {}: expected the prepared set that the run was trained on, got {}",
                       model.config().data.path, is_field_set(model.config().data.path) ? "another one" : "none");
    spectra = training_spectra(*set);
  }
  SampleOptions options = asked;
  options.as_drawn = true;
  const SampleResult drawn = sample(model, options);
  const auto wet = [&] {
    if (!model.field()->threshold) return kNan;
    return model.field()
        ->invert(drawn.samples)
        .narrow(1, 0, height * width)
        .gt(0)
        .to(at::kDouble)
        .mean()
        .item<double>();
  };
  FieldCalibration out{.wet_before = wet(),
                       .spectrum_before = kNan,
                       .spectrum_after = kNan,
                       .diverged = drawn.diverged,
                       .seconds = drawn.seconds};
  FieldTransform field = *model.field();
  if (spectrum) {
    const SpectrumFit fit = fit_spectrum(field, drawn.samples, height, width, spectra);
    out.spectrum_before = fit.before, out.spectrum_after = fit.after;
  } else {
    field.gains.clear();
    field.calibrate(drawn.samples);
  }
  model.set_field(field);
  out.wet_after = wet();
  out.wet_train = field.threshold ? field.laws.front().wet_share() : kNan;
  return out;
}

FieldCalibration calibrate_checkpoint(const std::string& path, const SampleOptions& options, bool spectrum) {
  const bool trainable = Checkpoint::read(path).record.contains("updates");
  std::optional<Training> training;
  std::optional<Model> alone;
  if (trainable)
    training.emplace(load_checkpoint(path));
  else
    alone.emplace(Model::load(path));
  Model& model = trainable ? training->model : *alone;
  const FieldCalibration out = calibrate_fields(model, options, spectrum);
  trainable ? save_checkpoint(path, model, training->state) : model.save(path);
  return out;
}

}  // namespace htfm
