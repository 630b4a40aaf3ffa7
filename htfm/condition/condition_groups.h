// Rows that are alike in the categories that are given, in groups large enough for laws of their own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"

namespace htfm HTFM_PUBLIC {

class ConditionGroups {
 public:
  static constexpr int64_t kFewest = 200;  ///< rows of a group

  ConditionGroups() = default;  ///< all rows in one group
  /// A combination of categories with enough rows is a group. Rows of rarer ones join those that agree with them in all
  /// columns but the last, then but the last two, and so on; what is left is group 0.
  static ConditionGroups fit(const ConditionTable& table);

  int64_t count() const { return static_cast<int64_t>(keys_.size()) + 1; }
  /// The group of one row of conditions.
  int32_t of(const double* values) const;
  /// The groups of rows of conditions (n x columns, float64).
  std::vector<int32_t> of(const at::Tensor& values) const;

  /// Columns of conditions that it looks at, up to the last.
  int64_t width() const { return columns_.empty() ? 0 : columns_.back() + 1; }

  /// As numbers of a checkpoint, and back.
  std::vector<double> numbers() const;
  static ConditionGroups from_numbers(std::span<const double> numbers);

 private:
  using Codes = std::vector<int32_t>;  // of the first so many category columns
  std::vector<int64_t> columns_;       // those of categories
  std::vector<Codes> keys_;            // of groups 1, 2, ...
  std::map<Codes, int32_t> group_;
};

}  // namespace htfm
