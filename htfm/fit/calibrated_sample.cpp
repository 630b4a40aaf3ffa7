#include "htfm/fit/calibrated_sample.h"

namespace htfm {

SampleResult calibrated_sample(Model& model, SampleOptions options) {
  options.as_drawn = model.transform().scored();
  SampleResult result = sample(model, options);
  if (!options.as_drawn) return result;
  model.calibrate(result.samples);
  result.samples = model.to_data(result.samples);
  return result;
}

}  // namespace htfm
