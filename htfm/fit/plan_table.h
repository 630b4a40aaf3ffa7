// How a table is fitted: scores and clock from its tails and from how its extremes come, the network and the training
// from its size.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/model/choose_clock.h"
#include "htfm/model/model.h"
#include "htfm/tail/diagnosis.h"
#include "htfm/tail/joint_extremes.h"

namespace htfm HTFM_PUBLIC {

/// What is decided before training.
struct TablePlan {
  RunConfig model;  ///< heavy-tailed flow matching, skewed where the tails speak for it (model.source_law)
  RunConfig
      gaussian;  ///< the same with a Gaussian source that knows nothing of the data's size: what it is compared with
  Dataset train, held_out;
  TableTransform transform;
  Diagnosis diagnosis;  ///< of the training rows, each column by its kind
  JointExtremes joint;  ///< of the same rows: whether extremes come together or alone
  ChosenClock clock;    ///< what the rows speak for, and why; settings may have put another one into `model`
};

/// Plans for the table that `base` names, which is read and split. `base` has the data and the seed; what a plan does
/// not decide stays as it is there. `settings` ("key=value") go over everything that is planned. InputError where the
/// table cannot be fitted.
TablePlan plan_table(const RunConfig& base, const std::vector<std::string>& settings = {});
/// The same for a table that is at hand; base.data says which share of it is held out.
TablePlan plan_table(const RunConfig& base, const Dataset& table, const std::vector<std::string>& settings = {});

/// What a column was taken for, in words.
std::string describe_column(const TablePlan& plan, int64_t column);
/// The plan in sentences: what was left out on reading, what the first columns are taken for, values that may be
/// errors, how many rows there are, and the clock.
std::vector<std::string> plan_sentences(const TablePlan& plan);

}  // namespace htfm
