// What is given beside the rows of a data set: conditions, which a model is told and does not model.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Which parts of a data set are given (the keys condition.*).
struct ConditionSpec {
  std::string columns = {};     ///< of a table, comma-separated names or numbers from 1
  std::string categories = {};  ///< those of them that are categories though they are numbers
  std::string numbers = {};     ///< those that are numbers though they are few whole ones
  std::string untold = {};      ///< numbers that the network is not told: centre and scale alone go with them
  bool label = false;           ///< the classes of images
  std::string file = {};        ///< a table with a row for each row of the data, whose columns are given
  std::string field = {};       ///< a coarse grid, "16x16", on which rows are given by their means; or a set of fields
  double drop = 0;              ///< share of the rows of a training step that are not told their condition
  double focus = 0;             ///< rows that are given large fields are drawn more often (focus_weights); 0: all alike

  bool there() const { return label || !columns.empty() || !file.empty() || !field.empty(); }
  /// What is given, as "condition.columns = line"; at most one makes sense.
  std::vector<std::string> ways() const;
};

/// One thing that is given: a category, or a number.
struct ConditionColumn {
  std::string name = {};
  std::vector<std::string> categories = {};  ///< by code; empty: a number
  bool told = true;                          ///< to the network

  bool is_category() const { return !categories.empty(); }
  /// Whether all categories are named by numbers.
  bool numbered() const;
  bool operator==(const ConditionColumn&) const = default;
};

/// Sizes of a field that is given in the place of columns.
struct ConditionField {
  int64_t channels = 0, height = 0, width = 0;

  int64_t size() const { return channels * height * width; }
  bool there() const { return channels > 0; }
  bool operator==(const ConditionField&) const = default;
};

/// The conditions of rows.
struct ConditionTable {
  std::vector<ConditionColumn> columns = {};
  at::Tensor values = {};  ///< rows x columns, float64: the code of the category, or the number; of a field its values
  ConditionField field = {};

  bool there() const { return !columns.empty() || field.there(); }
};

/// The same, these numbers (comma-separated names) not told to the network. InputError for a name that is no number of
/// the table.
ConditionTable with_untold(ConditionTable table, const std::string& names);

/// Conditions of rows as those take them who use them.
struct ConditionRows {
  at::Tensor values = {};  ///< n x columns, float64
  at::Tensor told = {};    ///< n x size, float32: as a network is told them (ConditionEncoder)
};

}  // namespace htfm
