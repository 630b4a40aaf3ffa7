// All columns of a table as the model sees them: each by its own map, constant ones kept aside; then, where asked for,
// tails of another index brought to one, and all columns turned and stretched by a robust scatter matrix, so that no
// direction is larger than another. What is discrete is no flow's: it is drawn on the way back.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_groups.h"
#include "htfm/condition/condition_trend.h"
#include "htfm/data/column_transform.h"
#include "htfm/data/discrete_part.h"
#include "htfm/data/hole_fill.h"
#include "htfm/data/relations.h"
#include "htfm/stat/margin.h"
#include "htfm/stat/score_calibration.h"
#include "htfm/tail/tail_level.h"

namespace htfm HTFM_PUBLIC {

/// How the law of a column of this kind may end (Margin::fit); `spread`: its values, spread over the cells of a
/// lattice, where those that are far beyond all others are to be a part of their own.
MarginOptions margin_options(const ColumnTransform& column, std::span<const double> spread = {});
/// Rows of numbers (n x d), and what is told of their conditions beside them.
at::Tensor with_told(const at::Tensor& rows, const ConditionRows& given);

class TableTransform {
 public:
  /// none, zscore (mean and deviation), robust (median and interquartile range), log (sign(y) log(1 + |y|) of that),
  /// table (each column by its kind: ColumnTransform), or scores (each column by its own law onto one law of scores:
  /// Margin, ScoreLaw). `whiten`: by a robust scatter matrix afterwards. `tail_index`: where positive, sides of columns
  /// whose tail has clearly another index are brought to this one; scores have one already. `scores`: a ScoreLaw.
  static TableTransform fit(const std::string& kind, const at::Tensor& rows, Key key, bool whiten = false,
                            double tail_index = 0, const std::string& scores = "normal");
  /// The same for columns of any kind, which may have missing values (NaN), and keep constraints; table or scores.
  /// `given`: conditions of the rows. Scores are then those of the laws given the condition: each group of categories
  /// has margins of its own, of what is left once centre and scale have been followed along the numbers.
  static TableTransform fit(const std::string& kind, const at::Tensor& rows, const std::vector<TableColumn>& columns,
                            const std::vector<Constraint>& constraints, Key key, bool whiten = false,
                            double tail_index = 0, const std::string& scores = "normal",
                            const ConditionTable& given = {});

  int64_t columns() const { return static_cast<int64_t>(list_.size()); }
  int64_t dim() const { return static_cast<int64_t>(seen_.size()); }  ///< columns that the model sees
  const std::vector<ColumnTransform>& list() const { return list_; }

  /// n x columns (float64, or float32 as images are) into n x dim float32; what is spread is a function of the key.
  /// `given`: their conditions, where the transform was fitted with some.
  at::Tensor apply(const at::Tensor& rows, Key key, const ConditionRows& given = {}) const;
  /// n x dim float64 back into n x columns float64. Rows that are not finite stay so. What is discrete is drawn: for
  /// row i a function of the key and first + i.
  at::Tensor invert(const at::Tensor& rows, Key key = Key(0), int64_t first = 0, const ConditionRows& given = {}) const;

  /// What is not a flow's, and how it is drawn once it was learned from the rows that this was fitted to.
  const DiscretePart& discrete() const { return discrete_; }
  void learn_discrete(const at::Tensor& rows, Key key, const ConditionRows& given = {}, int64_t most_steps = 0);
  /// What a flow sees of rows before they are turned: n x dim, whole.
  at::Tensor columns_only(const at::Tensor& rows, Key key, const ConditionRows& given = {}) const;

  /// Whether columns become scores by laws of their own; and the law of scores.
  bool scored() const { return !laws_.empty(); }
  const ScoreLaw& scores() const { return scores_; }
  /// Of a column that the model sees, where they are scored; of a group of conditions, where they are given.
  const Margin& margin(int64_t seen, int64_t group = 0) const {
    return laws_[static_cast<size_t>(group)].margins[seen];
  }
  /// Whether scores are those of laws given a condition.
  bool conditional() const { return conditional_; }
  const ConditionGroups& groups() const { return groups_; }
  /// Columns of conditions that it looks at, up to the last.
  int64_t given_width() const;
  /// Where rows that the model drew, n x dim float64, lie in the laws of their columns: n x dim places, row by row.
  /// Only where columns are scored, and not given a condition; what is not finite stays in the middle.
  std::vector<TailPlace> places(const at::Tensor& drawn) const;
  /// Whether values of a column that are far beyond all others on a side are drawn as a part of their own.
  bool draws_strays(int64_t k, bool above) const;
  /// Sets every column's margin right for a model: from here on invert() gives the data's margins to rows like these,
  /// n x dim float64 as the model draws them. Rows that are not finite are left out; nothing changes without scores, or
  /// where hardly any row is finite. `given`: their conditions; a group with many rows is set right by its own.
  void calibrate(const at::Tensor& drawn, Key key = Key(0), const ConditionRows& given = {});
  bool calibrated() const { return !laws_.empty() && !laws_[0].calibration.empty(); }

  /// What column k was taken for, in words.
  std::string describe(int64_t k) const;
  /// Significant digits of each column that the model can tell apart.
  std::vector<int> digits() const;
  /// How many sides of columns were brought to another tail index.
  int64_t levelled() const;
  /// The names of the columns that the model sees.
  std::vector<std::string> seen_names(const std::vector<std::string>& names) const;

  /// As tensors of a checkpoint, and back; `path` is for messages.
  void save_state(std::map<std::string, at::Tensor>& out) const;
  static TableTransform load_state(const std::map<std::string, at::Tensor>& in, const std::string& path);

 private:
  void set(std::vector<ColumnTransform> list);
  bool identity_ = false;  // every column is left as it is: float32 rows pass through
  std::vector<ColumnTransform> list_;
  void find_levels(const at::Tensor& seen, double tail_index);
  // InputError that names the first value of column k, among these rows, that float32 does not hold.
  void refuse_too_large(const double* x, const float* y, int64_t first, int64_t last, int64_t k) const;
  std::vector<int64_t> seen_;
  struct Levels {
    TailLevel above, below;
    double apply(double z) const { return z >= 0 ? above.apply(z) : -below.apply(-z); }
    double invert(double z) const { return z >= 0 ? above.invert(z) : -below.invert(-z); }
  };
  std::vector<Levels> levels_;  // of the columns that the model sees
  bool log_ = false;            // signed logarithms of the columns
  // Where columns are scored: the laws of those that the model sees, of one group of conditions.
  struct GroupLaws {
    std::vector<ConditionTrend> trends;  // empty where no numbers are given
    std::vector<Margin> margins;
    std::vector<ScoreCalibration> calibration;  // once the model has been drawn from; empty: as in group 0
  };
  std::vector<GroupLaws> laws_;  // one where nothing is given
  bool conditional_ = false;
  ConditionGroups groups_;
  ScoreLaw scores_;
  DiscretePart discrete_;
  int64_t told_ = 0;  // entries of conditions that the laws of states see beside the flow's numbers
  Relations relations_;
  HoleFill fill_;
  // What is given of one row, for a column's law.
  struct GivenRow {
    const double* values = nullptr;
    int32_t group = 0;
  };
  std::vector<GivenRow> given_rows(const at::Tensor& given, int64_t n) const;
  double seen_value(int64_t k, double x, double u, const GivenRow& given) const;
  double data_value(int64_t k, double z, const GivenRow& given, bool calibrated = true) const;
  TailPlace place_of(int64_t k, double z, const GivenRow& given, bool calibrated = true) const;
  at::Tensor told_to_states(const at::Tensor& rows, const ConditionRows& given) const;
  at::Tensor unwhitened(const at::Tensor& rows) const;
  void fit_margins(const at::Tensor& rows, Key key, const ConditionTable& given);
  // `as_they_are`: the values are the table's, and not what is left beside trends.
  Margin fit_margin(int64_t k, std::vector<double> values, bool as_they_are) const;
  void save_laws(std::map<std::string, at::Tensor>& out) const;
  void load_laws(const std::map<std::string, at::Tensor>& in, const std::string& path);
  at::Tensor for_flow(const at::Tensor& rows) const;
  at::Tensor numbers_only(const at::Tensor& values, Key key, const at::Tensor& given) const;
  at::Tensor centre_,
      root_;  // whitening: z = centre + root y, with a lower triangular root; undefined where there is none
};

}  // namespace htfm
