// Constraints between columns, kept by construction: a column that is at least a sum of others becomes its distance
// from it, which cannot be negative; one that equals a sum is not modelled and computed from it.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/data/column_transform.h"
#include "htfm/data/constraint.h"
#include "htfm/data/table_column.h"

namespace htfm HTFM_PUBLIC {

class Relations {
 public:
  /// From rows that keep the constraints (n x columns, float64); InputError with the row where one does not, or where
  /// constraints cannot be kept together (a column is bound twice, or by itself through others).
  /// Where a column of a constraint is missing, or has one of its values apart (TableColumn), it does not apply.
  static Relations fit(const std::vector<Constraint>& constraints, const at::Tensor& rows,
                       const std::vector<TableColumn>& columns = {});
  bool empty() const { return list_.empty(); }

  /// Rows with distances in the place of the columns that are bound.
  at::Tensor apply(const at::Tensor& rows) const;
  /// Back, in place.
  void invert(at::Tensor& rows) const;
  /// What the columns are after apply().
  std::vector<TableColumn> columns(std::vector<TableColumn> columns) const;
  /// A distance is not negative: says so to its map.
  void bound(int64_t column, ColumnTransform& map) const;
  /// ", at least a + b" for a column that is bound.
  std::string describe(int64_t column) const;

  void save_state(std::map<std::string, at::Tensor>& out) const;
  static Relations load_state(const std::map<std::string, at::Tensor>& in, const std::string& path, int64_t columns);

 private:
  double sum_of(const Constraint& c, const double* row) const;
  // Whether a value says nothing of the others of its row.
  bool is_free(int64_t column, double value) const;
  std::vector<Constraint> list_;                   // so that a sum has only columns that are not bound by a later one
  std::vector<double> stand_in_;                   // of each column, where it is missing in a sum
  std::vector<std::pair<int64_t, double>> apart_;  // columns and values that are no part of a constraint
  std::vector<double> resolution_;  // of each column that is bound: decimals that its values have, as 10^k; 0: any
};

}  // namespace htfm
