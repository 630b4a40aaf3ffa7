#include "htfm/fit/calibrated_sample.h"

namespace htfm {

SampleResult calibrated_sample(Model& model, SampleOptions options) {
  options.as_drawn = needs_calibration(model);
  SampleResult result = sample(model, options);
  if (!options.as_drawn) return result;
  model.calibrate(result.samples, result.conditions);
  result.samples = model.to_data(result.samples, discrete_key(options), options.first, result.conditions);
  return result;
}

bool needs_calibration(const Model& model) {
  return model.transform().scored() || !model.transform().discrete().empty();
}

}  // namespace htfm
