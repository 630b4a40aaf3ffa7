// The losses of a training, step by step, as a figure shows them.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct LossRecord {
  std::vector<double> step, loss;                  ///< of the rows trained on
  std::vector<double> validated_step, validation;  ///< of the rows set apart
};

/// What the log of a run folder says of its losses; nothing where there is no log.
LossRecord read_losses(const std::string& run_folder);

}  // namespace htfm
