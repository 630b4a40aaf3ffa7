// Conditions as a network is told them, further entries of its path feature: a category as one entry each, a number as
// its normal score and its standardised value, a field as FieldEncoding has it; and the law of the conditions that were
// seen in training.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"
#include "htfm/condition/condition_table.h"
#include "htfm/condition/field_encoding.h"

namespace htfm HTFM_PUBLIC {

class ConditionEncoder {
 public:
  ConditionEncoder() = default;  ///< nothing is given
  /// Of a training set. `may_be_absent`: one more entry says that nothing is given. InputError for conditions that are
  /// not finite. The key draws which rows are kept of more than can be.
  static ConditionEncoder fit(const ConditionTable& table, bool may_be_absent, Key key);

  bool there() const { return !columns_.empty() || field_.there(); }
  const std::vector<ConditionColumn>& columns() const { return columns_; }  ///< none where a field is given
  const FieldEncoding& field() const { return field_; }
  /// Values of a row of conditions.
  int64_t width() const { return field_.there() ? field_.field().size() : static_cast<int64_t>(columns_.size()); }
  int64_t size() const { return size_; }  ///< entries that the network sees; a field's are the last

  /// What the network is told of conditions (n x width, float64): n x size, float32.
  at::Tensor encode(const at::Tensor& values) const;
  bool may_be_absent() const { return may_be_absent_; }
  /// What it is told where nothing is given. InputError where it was not trained to go without (condition.drop).
  at::Tensor absent(int64_t rows) const;
  /// A share of encoded rows becomes absent, row i as the key says.
  void leave_out(at::Tensor& encoded, double share, Key key) const;

  /// The value of a text in a column: a category's code, or a number. InputError names the known categories.
  double value_of(int64_t column, const std::string& text) const;
  /// A value as text.
  std::string text_of(int64_t column, double value) const;
  /// Conditions as numbers of a file: a category that is named by a number is that number, any other its code.
  at::Tensor as_numbers(const at::Tensor& values) const;
  /// The place of a column by its name; InputError names those that there are.
  int64_t place_of(const std::string& name) const;

  /// Conditions whose NaN entries are drawn from those that were seen in training together with the given ones: row i
  /// as element first + i of the key says.
  at::Tensor completed(const at::Tensor& values, Key key, int64_t first) const;
  /// What of these conditions (NaN: not given) lies far from everything seen in training, a sentence each.
  std::vector<std::string> warnings(const at::Tensor& values) const;

  /// How many different conditions are kept, and how often each was seen: rows x width, and rows.
  const at::Tensor& seen_rows() const { return seen_; }
  const std::vector<double>& seen_counts() const { return counts_; }

  /// "line (one of 3: fire, marine, motor), age (a number from 18 to 97)"; empty where nothing is given.
  std::string describe() const;

  /// What a checkpoint holds beside columns() and may_be_absent(): tensors; and back.
  void save_state(std::map<std::string, at::Tensor>& out) const;
  static ConditionEncoder load_state(std::vector<ConditionColumn> columns, bool may_be_absent,
                                     const std::map<std::string, at::Tensor>& in, const std::string& path);

 private:
  // Quantiles of a number at fixed normal scores.
  struct Law {
    std::vector<double> quantile;
    double score(double x) const;
    double standard(double x) const;
  };
  void set_sizes();
  // The entry that says that nothing is given.
  int64_t absent_entry() const { return field_.there() ? 0 : size_ - 1; }
  void keep_rows(const at::Tensor& values, Key key);
  std::vector<int64_t> matching(const double* given) const;

  std::vector<ConditionColumn> columns_;
  std::vector<Law> laws_;  // of numbers; empty of categories
  FieldEncoding field_;
  bool may_be_absent_ = false;
  int64_t size_ = 0;
  at::Tensor seen_;
  std::vector<double> counts_;
};

}  // namespace htfm
