// Tables of scores: numbers aligned, spread and the paper's value beside ours, the best of a column marked.
#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {
namespace report {

enum class Best { none, highest, lowest };

struct Column {
  std::string title;
  Best best = Best::none;  // marks the best number of the column, as it is printed; reference rows do not compete
  int decimals = 3;
};

/// A cell: text, a number, or nothing.
class Cell {
 public:
  Cell() = default;
  Cell(std::string text) : text_(std::move(text)), kind_(Kind::text) {}
  Cell(const char* text) : Cell(std::string(text)) {}
  Cell(double value) : value_(value), kind_(Kind::number) {}
  template <std::integral T>
  Cell(T value) : value_(static_cast<double>(value)), kind_(Kind::number), whole_(true) {}
  /// Adds a spread, shown as "± 0.002"; 0 is that of one value, and is not shown.
  Cell& spread(double value);
  /// Adds the value of the paper; the column then has two parts, ours and the paper's.
  Cell& paper(double value);

 private:
  friend class TableWriter;
  enum class Kind { nothing, text, number };
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::string text_;
  double value_ = kNone, spread_ = kNone, paper_ = kNone;
  Kind kind_ = Kind::nothing;
  bool whole_ = false;
};

struct Row {
  std::vector<Cell> cells;
  bool reference = false;   // a yardstick, such as two fresh draws of the data: set apart, never the best
  bool rule_above = false;  // begins a group
};

/// The first column names the rows.
struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<Row> rows;

  /// Adds a row; returns it for its flags.
  Row& add(std::vector<Cell> cells);
  /// The table as HTML. Throws InputError where a row has more or fewer cells than there are columns.
  std::string html() const;
};

}  // namespace report
}  // namespace htfm
