// A model: configuration, network, method, normalisation, running statistics and trained weights: what sampling needs.
// The optimiser's state is beside it, in htfm/train/training_state.h.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "htfm/base/api.h"
#include "htfm/condition/condition_encoder.h"
#include "htfm/data/dataset.h"
#include "htfm/data/table_transform.h"
#include "htfm/model/choose_clock.h"
#include "htfm/model/config.h"
#include "htfm/model/description.h"
#include "htfm/net/network.h"

namespace htfm HTFM_PUBLIC {

/// The file that a configuration names, and how to read it.
FileSpec file_spec(const DataConfig& data);
/// The training set that a configuration names.
Dataset load_dataset(const RunConfig& config);
/// The training set and the rows of a file that are held out from it; a synthetic set has none.
std::pair<Dataset, Dataset> load_split(const RunConfig& config);
/// Of rows that are at hand those that data.rows says: all, or some at random.
Dataset chosen_rows(const RunConfig& config, const Dataset& data);
/// The training set of rows that are at hand, and what is held out: of those that data.rows says the share data.holdout
/// is set apart.
std::pair<Dataset, Dataset> split_dataset(const RunConfig& config, const Dataset& data);
/// Fresh points of the same synthetic law, never seen in training; the k-th such set. InputError where the data are a
/// file.
Dataset held_out(const RunConfig& config, int64_t n, uint64_t k = 0);

/// Trained parameters: flat float32 buffers laid out as the network's.
struct TrainedWeights {
  at::Tensor parameters;  ///< as the last step left them
  at::Tensor ema;         ///< their moving average
  at::Tensor best;        ///< the averages with the least loss on the validation rows; undefined where there are none
  /// The weights to sample with: the best ones, else the averaged ones.
  const at::Tensor& chosen() const { return best.defined() ? best : ema; }
};

struct Checkpoint;

class Model {
 public:
  /// A new model for a training set; `seen` gets the set as training sees it.
  Model(const RunConfig& config, const Dataset& data, TrainingData* seen = nullptr);
  /// A model out of a checkpoint file; InputError for damage or a file that is no checkpoint.
  static Model load(const std::string& checkpoint);
  /// Writes the model atomically, as a checkpoint to sample from; training cannot go on from it.
  void save(const std::string& path) const;

  const RunConfig& config() const { return config_; }
  void set_config(const RunConfig& config) { config_ = config; }  ///< keys that may change on resume
  const Network& network() const { return *network_; }
  const Method& method() const { return *method_; }
  /// The flow, for methods whose network gives its velocity; only to be asked for where method().flow() is there.
  const FlowMatching& flow() const { return *method_->flow(); }
  /// The clock's law, which the data may have chosen, and in that case why, in sentences.
  const ClockSpec& clock() const { return clock_.spec; }
  const std::string& clock_explanation() const { return clock_.explanation; }
  const TableTransform& transform() const { return transform_; }
  /// What is given beside rows, and what the network is told of it; nothing where the model has no condition.
  const ConditionEncoder& condition() const { return condition_; }
  /// Sets the margins right by rows that the model drew, under these conditions (TableTransform::calibrate,
  /// FieldTransform::calibrate).
  void calibrate(const at::Tensor& drawn, const at::Tensor& conditions = {});
  /// Another way from rows to fields, set right by rows that the model drew; only where field() is there.
  void set_field(const FieldTransform& field) { field_ = field; }
  /// Learns how the discrete part of a table is drawn (TableTransform::learn_discrete), where that was not done.
  void learn_discrete(const Dataset& data);
  const std::vector<std::string>& column_names() const { return names_; }
  /// What the columns of a table hold; empty: numbers.
  const std::vector<TableColumn>& columns() const { return columns_; }
  int64_t dim() const { return network_->dim(); }
  /// The shape of a row where rows are images.
  const std::optional<ImageShape>& image() const { return image_; }
  /// How fields became rows, where rows are prepared fields.
  const std::optional<FieldTransform>& field() const { return field_; }
  /// Rows that the network made, n x dim float64, in the data's own units. What is discrete in a table is drawn: for
  /// row i a function of the key and first + i. `conditions`: those that they were made under, n x width.
  at::Tensor to_data(const at::Tensor& rows, Key key = Key(0), int64_t first = 0,
                     const at::Tensor& conditions = {}) const;
  const DataScale& data_scale() const { return method_->data_scale(); }
  /// Prepares training on the data set that the model was made for; returns it as training sees it.
  TrainingData fit_to_data(const Dataset& data);
  /// A data set as training sees it.
  TrainingData training_data(const Dataset& data) const;
  const std::string& data_hash() const { return data_hash_; }
  const std::string& data_origin() const { return data_origin_; }

  /// The learned curves of the schedule: their parameters, and which of them the method works with. Between steps it is
  /// the averaged ones.
  const ParameterLayout& curve_layout() const { return curve_layout_; }
  void use_curves(bool averaged);
  /// Method::share_draws of its method, while processes train it together.
  void share_draws(Communicator* processes) { method_->share_draws(processes); }

  TrainedWeights trained;
  TrainedWeights curves;  ///< of the schedule; undefined where they are not learned
  RunningStandardiser standardiser{0};
  int64_t step = 0;       ///< steps taken, skipped ones included
  int64_t skipped = 0;    ///< steps whose loss or gradient was not finite
  double best_loss = 0;   ///< on the validation rows
  int64_t best_step = 0;  ///< at which it was reached; 0: none

  const at::Tensor& weights() const { return trained.chosen(); }
  /// XXH64 of the weights to sample with: names a trained model in reports.
  std::string weights_hash() const;
  /// What the model is, for people.
  ModelDescription describe() const;
  /// InputError unless this is the law that the model was trained with. An empty family stands for the model's own; the
  /// grid is not looked at.
  void check_clock(const ClockSpec& asked) const;

 private:
  friend Model load_model(const Checkpoint& file);
  friend void save_model(const Model& model, Checkpoint& file);
  Model() = default;
  // The conditions of the data are apart from their rows already.
  struct PartsAreApart {};
  Model(const RunConfig& config, const Dataset& data, TrainingData* seen, PartsAreApart);
  void build(DataScale scale);
  ConditionRows rows_given(const at::Tensor& conditions) const;

  RunConfig config_;
  ChosenClock clock_;
  std::unique_ptr<Network> network_;
  ParameterLayout curve_layout_;
  std::unique_ptr<Method> method_;
  TableTransform transform_;
  ConditionEncoder condition_;
  std::vector<std::string> names_;
  std::vector<TableColumn> columns_;
  int64_t dim_ = 0;
  std::optional<ImageShape> image_;
  std::optional<FieldTransform> field_;
  std::string data_hash_, data_origin_;
};

}  // namespace htfm
