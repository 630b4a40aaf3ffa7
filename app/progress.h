// Training and sampling with a status line.
#pragma once

#include <string>

#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

/// Trains with a status line on standard error; `name` goes in front.
Model train_with_status(const RunConfig& config, TrainOptions options, const std::string& name = "");
/// Samples likewise.
SampleResult sample_with_status(const Model& model, SampleOptions options, const std::string& name = "");

}  // namespace htfm::app
