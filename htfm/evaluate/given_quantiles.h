// Far quantiles of each category that is given: data beside samples.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"

namespace htfm HTFM_PUBLIC {

/// Rows with their conditions: a part of a data set, or samples.
struct GivenRows {
  at::Tensor rows;        ///< n x columns
  at::Tensor conditions;  ///< n x width, float64
};

/// One column among the rows of one category.
struct CategoryQuantiles {
  std::string category, column;  ///< "line = fire", the column's name
  int64_t data_rows = 0, samples = 0;
  std::vector<double> data, drawn;  ///< at each level; NaN where fewer than five of the rows lie beyond it
};

struct GivenQuantiles {
  std::vector<double> levels;
  std::vector<CategoryQuantiles> list;  ///< the categories with most rows of each column of conditions
  int64_t left_out = 0;                 ///< categories that are not shown: too many, or too few rows
};

/// Quantiles of every column in every category of the conditions `given`.
GivenQuantiles quantiles_given(const std::vector<ConditionColumn>& given, const std::vector<std::string>& names,
                               const GivenRows& data, const GivenRows& drawn);

}  // namespace htfm
