// Training and sampling with a status line.
#pragma once

#include <string>

#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

/// What a training began with, on standard error: its method, and the clock where the data chose it; `name` goes in front.
void say_model(const Model& model, const std::string& name = "");
/// Where training stands, as a status line shows it.
std::string progress_text(const TrainProgress& progress);

/// Trains with a status line on standard error; `name` goes in front.
Model train_with_status(const RunConfig& config, TrainOptions options, const std::string& name = "");
/// Samples likewise.
SampleResult sample_with_status(const Model& model, SampleOptions options, const std::string& name = "");

}  // namespace htfm::app
