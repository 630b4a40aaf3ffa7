// The figures of samples, image scores and the demo, as commands print them: one JSON object each.
#pragma once

#include <optional>
#include <string>

#include "htfm/base/api.h"
#include "htfm/evaluate/images.h"
#include "htfm/page/demo.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

/// What was drawn of a model and how; `file` is named where it is not empty.
std::string sample_json(const Model& model, const SampleOptions& options, const SampleResult& result,
                        const std::string& file = "");

/// Scores of images; `by_class` where samples were drawn by class, `distance` is what the Frechet distance is called.
/// `for_the_eye`: what belongs together stands in one text.
std::string image_scores_json(const ImageReference& real, const ImageEvaluation& evaluation,
                              const std::optional<ClassScores>& by_class, const std::string& distance,
                              bool for_the_eye);

/// Scores of every model of the demo, and what two fresh draws of the data score.
std::string demo_json(const Demo& demo);

}  // namespace htfm
