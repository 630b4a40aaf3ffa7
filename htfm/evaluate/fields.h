// Samples of fields against a prepared set. Both are read as they are needed: neither has to fit in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/metric/field_scores.h"
#include "htfm/metric/metric.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

struct FieldEvaluationOptions {
  std::string part = "held-out";  ///< of the sets: held-out, train or all
  int64_t channel = 0;
  double wet =
      -1;  ///< values of at least this are wet; negative: the set's threshold, or 0.1. It goes before scores.wet
  FieldScoreOptions scores = {};  ///< levels, blocks and bootstrap
  int64_t shown = 0;              ///< fields of each set to look at (FieldExamples)
};

/// Some fields of both sets. Of 256 that lie evenly in a set these are evenly spaced by the rank of their maximum, from
/// the median to the largest, which comes last: dry fields look all alike.
struct FieldExamples {
  at::Tensor real, fake;  ///< shown x height x width
  at::Tensor
      range;  ///< the real ones that were chosen from: a scale of colours for them is the same whatever the samples are
};

struct FieldEvaluation {
  FieldScores scores;
  FieldScoreOptions options;      ///< as they were used
  std::string reference, source;  ///< what the real fields and the samples are: "40 fields of rain.fields (held-out)"
  std::string data_hash;          ///< of the real set
  std::string channel, unit;      ///< names
  bool south_first = false;       ///< the first row of a field is the southern one
  FieldExamples examples;         ///< undefined where none are to be shown
};

/// Scores `fake`, samples (.npy) or another prepared set, against the prepared set `real`. A set against itself: its
/// training part is the fake one.
FieldEvaluation evaluate_fields(const std::string& real, const std::string& fake,
                                const FieldEvaluationOptions& options = {});

/// The scores by name, in the order in which they are printed.
std::vector<MetricValue> field_values(const FieldScores& scores);

struct ScoredFieldRun {
  SampleResult sampled;  ///< without the samples
  FieldEvaluation evaluation;
};
/// Samples a model of fields and scores it against the set it was trained on. Samples pass through the file `scratch`
/// (.npy), which goes.
ScoredFieldRun score_field_run(const Model& model, const SampleOptions& options, const std::string& scratch,
                               const FieldEvaluationOptions& evaluation = {});

}  // namespace htfm
