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
  bool label = false;           ///< the classes of images
  double drop = 0;              ///< share of the rows of a training step that are not told their condition

  bool there() const { return label || !columns.empty(); }
};

/// One thing that is given: a category, or a number.
struct ConditionColumn {
  std::string name = {};
  std::vector<std::string> categories = {};  ///< by code; empty: a number

  bool is_category() const { return !categories.empty(); }
  /// Whether all categories are named by numbers.
  bool numbered() const;
  bool operator==(const ConditionColumn&) const = default;
};

/// The conditions of rows.
struct ConditionTable {
  std::vector<ConditionColumn> columns = {};
  at::Tensor values = {};  ///< rows x columns, float64: the code of the category, or the number

  bool there() const { return !columns.empty(); }
};

/// Conditions of rows as those take them who use them.
struct ConditionRows {
  at::Tensor values = {};  ///< n x columns, float64
  at::Tensor told = {};    ///< n x size, float32: as a network is told them (ConditionEncoder)
};

}  // namespace htfm
