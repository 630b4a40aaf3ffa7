// Samples of fields as NetCDF or GRIB2.
#pragma once

#include <string>

#include "htfm/sample/sampler.h"

namespace htfm::app {

/// Draws samples into a file as they come, with coordinates and units of the set that the model was trained on, and
/// where they come from. Where that set is no longer there, a line says that coordinates are missing.
SampleResult write_field_samples(const Model& model, const SampleOptions& options, const std::string& run,
                                 const std::string& output);

}  // namespace htfm::app
