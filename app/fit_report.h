// The page of `htfm fit`: a table's model beside held-out rows and beside simpler models.
#pragma once

#include <string>
#include <vector>

#include "app/common.h"
#include "app/table_plan.h"
#include "htfm/metric/quantile_error.h"
#include "htfm/sample/sampler.h"

namespace htfm::app {

/// A model of the table by its samples, in the table's units.
struct TableModel {
  std::string name;
  at::Tensor rows;  ///< n x columns, float64
};

struct LossRecord {
  std::vector<double> step, loss, validated_step, validation;
};
/// What the log of a run says of its losses.
LossRecord read_loss_record(const std::string& run_folder);

struct TableFit {
  TablePlan plan;
  std::vector<TableModel> models;                ///< ours first
  std::vector<QuantileYardstick::Score> scores;  ///< of each model; empty where nothing is held out
  std::vector<std::vector<double>> quantiles;    ///< of each model, by the yardstick
  LossRecord losses;
  std::string command, folder, weights_hash;
  int64_t steps = 0, best_step = 0, diverged = 0;
  double evaluations = 0, seconds = 0;
};

/// Levels of the comparison: mean absolute log-quantile error over these.
inline const std::vector<double> kTableLevels{0.95, 0.99, 0.995, 0.999};

/// Which model is better, and whether the difference is more than chance: one sentence for each model that ours is compared with.
std::vector<std::string> comparison_sentences(const TableFit& fit);

/// The whole page.
std::string fit_page(const TableFit& fit, const QuantileYardstick* yardstick);

}  // namespace htfm::app
