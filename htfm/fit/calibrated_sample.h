// Samples of a model whose columns or fields are scores, with the margins set right by them.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

/// Draws samples, calibrates the model's margins by them (Model::calibrate) and gives them in the data's units: every
/// column or channel then has its own law, as nearly as so many samples can say, or `most` of them where those of a
/// group of conditions would be few. Models without scores are only sampled.
SampleResult calibrated_sample(Model& model, SampleOptions options, int64_t most = 0);

/// Whether drawing more than once would change the model: it has margins or a discrete part to be set right.
bool needs_calibration(const Model& model);

/// What calibrate_checkpoint found: shares of the points of the first channel that are wet, NaN without a threshold.
struct FieldCalibration {
  double wet_before = 0, wet_after = 0, wet_train = 0;
  double spectrum_before = 0,
         spectrum_after = 0;  ///< distances (SpectrumFit); NaN where the spectrum was not asked for
  int64_t diverged = 0;
  double seconds = 0;
};
/// Draws fields from a model, and sets the laws of its channels right by them; with `spectrum` the shape of their
/// spectrum too, by the set that the model was trained on. InputError where its fields are not scores, or the set is
/// gone.
FieldCalibration calibrate_fields(Model& model, const SampleOptions& options, bool spectrum = false);
/// The same for the model in a checkpoint, which is written anew with all else that it holds.
FieldCalibration calibrate_checkpoint(const std::string& path, const SampleOptions& options, bool spectrum = false);

}  // namespace htfm
