// Samples of a model whose columns are scores, with the margins set right by them.
#pragma once

#include "htfm/base/api.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

/// Draws samples, calibrates the model's margins by them (TableTransform::calibrate) and gives them in the data's
/// units: every column then has its own law, as nearly as so many samples can say. Models without scores are only
/// sampled.
SampleResult calibrated_sample(Model& model, SampleOptions options);

/// Whether drawing more than once would change the model: it has margins or a discrete part to be set right.
bool needs_calibration(const Model& model);

}  // namespace htfm
