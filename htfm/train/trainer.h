// The training loop.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "htfm/base/api.h"
#include "htfm/base/error.h"
#include "htfm/model/run_folder.h"
#include "htfm/train/training_processes.h"
#include "htfm/train/training_state.h"

namespace htfm HTFM_PUBLIC {

/// Where training stands, for a status line.
struct TrainProgress {
  int64_t step = 0, steps = 0;
  double loss = 0;  ///< mean since the last report
  double norm = 0;  ///< of the last gradient
  double lr = 0;
  int64_t skipped = 0;
  double seconds = 0, steps_per_second = 0;  ///< of this process
  bool last = false;
  std::optional<double> validation = {};  ///< loss on the rows set apart, where it was just taken
  std::vector<double> waiting = {};       ///< of several processes: the share of its time that each has waited
};

struct TrainOptions {
  std::string folder = {};       ///< empty: nothing is written
  at::Device device = at::kCPU;  ///< where the steps are taken
  bool resume = false;           ///< go on from the newest checkpoint in the folder, or start where there is none
  bool discrete = true;          ///< learn how the discrete part of a table is drawn, before the first step
  std::function<void(const TrainProgress&)> report = {};  ///< called every log_steps steps and at the end
  /// Called about once a second between reports, on the CPU, where the loss is at hand: for a status line.
  std::function<void(const TrainProgress&)> status = {};
  std::function<void(const Model&)> started = {};  ///< called once before the first step
  /// Asked after each step whether to end here: the checkpoint of this step is written, where there is a folder, and
  /// Interrupted is thrown. To go on: resume.
  std::function<bool()> stop = {};
  TrainingProcesses processes = {};  ///< that train together; all of them call train() alike. Rank 0 alone writes and
                                     ///< reports
  std::function<void(const std::string&)> note = {};  ///< called with a sentence that the user should know
};

/// Steps of the whole training on a set of so many rows: epochs times batches, the last batch of an epoch possibly
/// smaller. Validation may end it before.
int64_t total_steps(const RunConfig& config, int64_t rows);

/// Trains a model as configured and returns it. The result is a function of configuration and data: a run that was
/// killed and resumed ends with the same bits. Error after max_bad_steps non-finite steps in a row.
Model train(const RunConfig& config, const TrainOptions& options = {});
/// The same on a data set that is at hand.
Model train(const RunConfig& config, const Dataset& data, const TrainOptions& options = {});
/// The same with the state that training ended in.
Training run_training(const RunConfig& config, const Dataset& data, const TrainOptions& options = {});

}  // namespace htfm
