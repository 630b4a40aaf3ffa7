// From a table to a model of it, samples, and a comparison with simpler models on rows that none of them has seen: what
// `htfm fit` does.
//
//   TableFitOptions options{.file = {.path = "prices.csv", .log_returns = true}, .folder = "run"};
//   options.page = [](const TableFit& fit) { return fit_page(fit); };  // htfm/page/fit_page.h
//   const TableFit fit = fit_table(options);
//   const SampleResult more = sample(fit.model, sample_options(fit.plan.model));
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/fit/plan_table.h"
#include "htfm/metric/near_copies.h"
#include "htfm/metric/quantile_error.h"
#include "htfm/model/loss_record.h"
#include "htfm/train/trainer.h"

namespace htfm HTFM_PUBLIC {

struct TableFit;

struct TableFitOptions {
  FileSpec file = {};                      ///< the table and how to read it
  std::vector<std::string> settings = {};  ///< "key=value" of a configuration, over everything that is planned
  int64_t seed = 0;
  double holdout = 0.3;     ///< share of the rows that the models are judged by
  double minutes = 0;       ///< the most to spend: where what is planned takes longer, fewer steps are taken, or fewer
                            ///< rows at random, and a note says so; 0: as long as it takes
  int64_t samples = 10000;  ///< rows to draw
  int64_t judged = 0;       ///< rows to draw to be compared and to set margins right; 0: as many as that takes
  bool compare = true;      ///< with Gaussian flow matching, a Student-t law and resampling
  bool refit = true;        ///< end with a model of all rows, trained as long as the judged one was best after
  std::string folder = {};  ///< of the run, samples.csv and fit.json; empty: nothing is written
  bool resume = false;      ///< go on with a run that was interrupted in this folder
  std::function<std::string(const TableFit&)> page =
      {};  ///< what makes the folder's report.html, as fit_page does; empty: no page

  TrainingProcesses processes = {};  ///< that work together; rank 0 alone writes. All call it alike
  std::function<bool()> stop = {};   ///< TrainOptions::stop

  // Called on the way. `stage` names in words what is trained or sampled.
  std::function<void(const std::string& sentence)> note = {};
  std::function<void(const std::string& stage, const Model& model)> training = {};
  std::function<void(const std::string& stage, const TrainProgress& progress)> trained = {};
  std::function<void(const std::string& stage, int64_t done, int64_t n)> sampled = {};
};

/// A model of the table by its samples, and its score.
struct TableModel {
  std::string name;
  at::Tensor rows = {};                 ///< n x columns, float64, in the table's units, as numbers_of() gives them
  at::Tensor conditions = {};           ///< of these rows, n x width; undefined where nothing is given
  std::vector<double> quantiles = {};   ///< by the yardstick; empty where nothing is held out
  QuantileYardstick::Score score = {};  ///< of the quantiles against those of the held-out rows
};

/// How often the states of a discrete column occur (DiscreteColumn), and a value is missing.
struct DiscreteShares {
  int64_t column = 0;
  double distance = 0;  ///< half the sum of differences between the shares of held-out rows and of the judged samples
  double missing = 0, missing_drawn = 0;
};

struct TableFit {
  TablePlan
      plan;     ///< as it was carried out: shortened or lengthened to the time, or as the run that was resumed had it
  Model model;  ///< of all rows, or the judged one where none is refitted
  Dataset rows = {};                    ///< what `model` was trained on
  bool refitted = false;                ///< whether `model` was trained on all rows, the held-out ones too
  int64_t judged_step = 0;              ///< after how many steps the judged model was best
  double leisure = 1;                   ///< share of its rounds and samples that a page draws; below 1 in little time
  at::Tensor samples = {};              ///< as many rows as were asked for, in the table's units
  at::Tensor conditions = {};           ///< that they were drawn under, n x width; undefined where nothing is given
  std::vector<TableModel> models = {};  ///< the judged model by more samples, then those that it is compared with
  std::optional<QuantileYardstick> yardstick = {};       ///< the held-out rows; none where there are fewer than two
  at::Tensor train_numbers = {}, held_out_numbers = {};  ///< the plan's rows, as numbers_of() gives them
  std::vector<DiscreteShares> discrete = {};             ///< of each discrete column
  std::optional<NearCopies> copies = {};                 ///< whether samples of the judged model copy training rows
  LossRecord losses = {};                                ///< of the judged model's training
  double evaluations = 0;                                ///< of the network, a sample
  int64_t diverged = 0;                                  ///< samples that are not finite
  double seconds = 0;
  std::string folder = {}, samples_file = {}, page_file = {};  ///< what was written; empty: nothing
};

/// Reads the table, once, and fits it. InputError where it cannot be fitted, or where the folder holds a run and
/// `resume` is not set.
TableFit fit_table(const TableFitOptions& options);
/// The same with a table that is at hand; options.file names it in reports.
TableFit fit_table(const Dataset& table, const TableFitOptions& options = {});

/// Rows of a table as quantiles can judge them: discrete columns are 0, and a value that is missing is the median of
/// the training rows. The rows themselves where a table has nothing discrete.
at::Tensor numbers_of(const at::Tensor& rows, const TablePlan& plan);

/// Which model is better, and whether the difference is more than chance: one sentence for each model that ours is
/// compared with.
std::vector<std::string> comparison_sentences(const TableFit& fit);
/// The result in numbers, as one JSON object: what fit.json holds.
std::string fit_json(const TableFit& fit);

}  // namespace htfm
