// Training and sampling as a user sees them: status lines, and figures at the end.
#pragma once

#include <functional>
#include <string>

#include "app/common.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

/// What a training began with, on standard error: its method, and the clock where the data chose it; `name` goes in
/// front.
void say_model(const Model& model, const std::string& name = "");
/// Where training stands, as a status line shows it.
std::string progress_text(const TrainProgress& progress);

/// Trains with a status line on standard error; `name` goes in front.
Model train_with_status(const RunConfig& config, TrainOptions options, const std::string& name = "");
/// Samples likewise.
SampleResult sample_with_status(const Model& model, SampleOptions options, const std::string& name = "");
/// What samplers call as they go on, for a status line.
std::function<void(int64_t done, int64_t n)> sample_status(const std::string& name = "");
/// The figures of `htfm sample`; `file` is named where it is not empty.
Json sample_figures(const Model& model, const SampleOptions& options, const SampleResult& result,
                    const std::string& file = "");

}  // namespace htfm::app
