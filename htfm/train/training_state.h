// What training keeps beside the model: the optimiser's moments, counters and sums since the last log line. With both a
// run goes on as if it had never stopped.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/model/model.h"
#include "htfm/train/optimiser.h"

namespace htfm HTFM_PUBLIC {

struct TrainingState {
  OptimiserState network;
  OptimiserState curves;     ///< of the schedule; undefined where they are not learned
  int64_t bad_in_a_row = 0;  ///< steps that were not finite
  double loss_sum = 0;       ///< since the last log line
  int64_t loss_count = 0;

  /// Of a new model: its buffers, and moments of zero. Model and state share the weights.
  static TrainingState initial(const Model& model);
};

struct Training {
  Model model;
  TrainingState state;
};

/// Writes and reads model and state together. InputError where the file holds a model alone.
void save_checkpoint(const std::string& path, const Model& model, const TrainingState& state);
Training load_checkpoint(const std::string& path);

}  // namespace htfm
