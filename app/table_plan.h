// How a table is fitted: the clock from its tails, the network and the training from its size.
#pragma once

#include <string>
#include <vector>

#include "htfm/tail/diagnosis.h"
#include "htfm/model/choose_clock.h"
#include "htfm/model/model.h"

namespace htfm::app {

/// What is decided before training.
struct TablePlan {
  RunConfig model;     ///< heavy-tailed flow matching
  RunConfig gaussian;  ///< the same with a Gaussian source that knows nothing of the data's size: what it is compared with
  Dataset train, held_out;
  TableTransform transform;
  Diagnosis diagnosis;  ///< of the training rows as the model sees them
  ChosenClock clock;
  SourceMeanSpec mean;  ///< of a skewed source, where the tails speak for one; the clock is of its law then
  std::string law;      ///< its name; empty: not skewed
};

/// Reads the table and plans. `data`: settings that name the file and how to read it; `user`: settings that go over everything that is
/// planned. InputError where the table cannot be fitted.
TablePlan plan_table(const std::vector<std::string>& data, const std::vector<std::string>& user);

}  // namespace htfm::app
