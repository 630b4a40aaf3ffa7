// Samples of fields, written as they are drawn: many of 128 x 128 do not fit in memory.
#pragma once

#include <functional>
#include <string>

#include "htfm/base/api.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

/// Draws samples of a model of fields into an .npy file, n x c x h x w float32 in the fields' own units; the file is
/// there wholly or not at all. The same samples as sample() draws; the result has everything but them and the areas.
/// InputError where the model is not one of fields.
SampleResult sample_fields(const Model& model, const SampleOptions& options, const std::string& path);
/// The same, and `receive` gets them part by part in their order, n x (c h w) float32.
SampleResult sample_fields(const Model& model, const SampleOptions& options,
                           const std::function<void(const at::Tensor& values)>& receive);
/// The same into a file that other programs open (.nc, .grib2), with the names, units and coordinates of the set that
/// the model was trained on; where that set is no longer there, `note` is told that they are missing. `command` stands
/// in the file as its history.
SampleResult export_sampled_fields(const Model& model, const SampleOptions& options, const std::string& path,
                                   const std::string& command = "",
                                   const std::function<void(const std::string& sentence)>& note = {});

}  // namespace htfm
