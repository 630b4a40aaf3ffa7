// All columns of a table as the model sees them: each by its own map, constant ones kept aside; then, where asked for, all of
// them turned and stretched by a robust scatter matrix, so that no direction is larger than another.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "htfm/data/column_transform.h"

namespace htfm {

class TableTransform {
 public:
  /// none, zscore (mean and deviation), robust (median and interquartile range), or table (each column by its kind: ColumnTransform).
  /// `whiten`: by a robust scatter matrix afterwards.
  static TableTransform fit(const std::string& kind, const at::Tensor& rows, Key key, bool whiten = false);

  int64_t columns() const { return static_cast<int64_t>(list_.size()); }
  int64_t dim() const { return static_cast<int64_t>(seen_.size()); }  ///< columns that the model sees
  const std::vector<ColumnTransform>& list() const { return list_; }

  /// n x columns (float64, or float32 as images are) into n x dim float32; what is spread is a function of the key.
  at::Tensor apply(const at::Tensor& rows, Key key) const;
  /// n x dim float64 back into n x columns float64. Rows that are not finite stay so.
  at::Tensor invert(const at::Tensor& rows) const;

  /// The names of the columns that the model sees.
  std::vector<std::string> seen_names(const std::vector<std::string>& names) const;

  /// As tensors of a checkpoint, and back; `path` is for messages.
  void put(std::map<std::string, at::Tensor>& out) const;
  static TableTransform take(const std::map<std::string, at::Tensor>& in, const std::string& path);

 private:
  void set(std::vector<ColumnTransform> list);
  bool identity_ = false;  // every column is left as it is: float32 rows pass through
  std::vector<ColumnTransform> list_;
  at::Tensor columns_only(const at::Tensor& rows, Key key) const;
  std::vector<int64_t> seen_;
  at::Tensor centre_, root_;  // whitening: z = centre + root y, with a lower triangular root; undefined where there is none
};

}  // namespace htfm
