// Samples of fields, written as they are drawn: many of 128 x 128 do not fit in memory.
#pragma once

#include "htfm/base/api.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

/// Draws samples of a model of fields into an .npy file, n x c x h x w float32 in the fields' own units; the file is
/// there wholly or not at all. The same samples as sample() draws; the result has everything but them. InputError where
/// the model is not one of fields.
SampleResult sample_fields(const Model& model, const SampleOptions& options, const std::string& path);

}  // namespace htfm
