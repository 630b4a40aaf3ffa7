// Expressions of the values of a sample, as a user writes them: numbers ("0.4*a + 0.6*b") and conditions ("loss > 5e6
// and not (a < 0 or b < 0)").
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "htfm/data/image_set.h"
#include "htfm/data/table_column.h"

namespace htfm {

/// What names in an expression stand for.
struct RowNames {
  std::vector<std::string> columns;                              ///< may be empty: columns have numbers alone
  int64_t count = 0;                                             ///< values of a row
  std::vector<TableColumn> kinds = {};                           ///< of the columns; empty: numbers
  std::optional<ImageShape> image = {};                          ///< of rows that are images or fields
  std::function<double(std::span<const double> row)> size = {};  ///< what `size` is
};

/// A condition of a row: whether it holds, and by how much it does or fails to. No comparison with a missing value
/// holds.
struct Truth {
  bool holds = false;
  double margin = 0;
};

class Expression {
 public:
  /// Reads a number or a condition. InputError with the place, in front of it `where`, such as "--where".
  Expression(const std::string& text, RowNames names, const std::string& where);
  bool is_condition() const;
  /// Whether it asks for `size`.
  bool uses_size() const { return uses_size_; }
  /// What `size` is, where it was not known when the expression was read.
  void set_size(std::function<double(std::span<const double>)> size) { names_.size = std::move(size); }

  double number(std::span<const double> row) const { return number_of(root_, row); }
  Truth truth(std::span<const double> row) const { return truth_of(root_, row); }
  /// Measures the margins of comparisons by their spread over rows (n x count): margins of unlike columns can then be
  /// compared. To be called before truth() where margins matter.
  void set_spreads(std::span<const double> rows);

 private:
  enum class Kind {
    constant,
    text,
    column,
    size,
    field_max,
    field_min,
    field_mean,
    negate,
    add,
    subtract,
    multiply,
    divide,
    absolute,
    most,
    least,
    greater,
    greater_equal,
    less,
    less_equal,
    equal,
    unequal,
    both,
    either,
    negation
  };
  struct Node {
    Kind kind;
    int left = -1, right = -1;
    double value = 0;    // constant
    int64_t column = 0;  // column
    double spread = 1;   // comparisons
    size_t place = 0;    // in the text
  };
  friend class ExpressionReader;

  static bool is_condition(Kind kind) { return kind >= Kind::greater; }
  static bool is_comparison(Kind kind) { return kind >= Kind::greater && kind <= Kind::unequal; }
  double number_of(int node, std::span<const double> row) const;
  Truth truth_of(int node, std::span<const double> row) const;

  RowNames names_;
  std::vector<Node> nodes_;
  int root_ = -1;
  bool uses_size_ = false;
};

}  // namespace htfm
