// What a column of a table holds: numbers, categories or dates, and how it is written back as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/io/csv.h"

namespace htfm HTFM_PUBLIC {

enum class ColumnKind { number, category, date };
/// "number", "category", "date".
const char* kind_name(ColumnKind kind);
/// And back; InputError for any other word.
ColumnKind kind_by_name(const std::string& name);

/// A column of Dataset::rows. There a category is its code 0, 1, ..., a date the days since 1970 (seconds, where the
/// form has a time of day), and a missing value NaN.
struct TableColumn {
  ColumnKind kind = ColumnKind::number;
  std::vector<std::string> categories = {};  ///< their names, by code
  bool ordered = false;                      ///< the codes follow an order that means something
  std::string date_form = {};                ///< "Y-M-D", "D.M.Y h:m": as the file has it
  bool asked = false;                        ///< the user named the kind: numbers of few values stay numbers

  /// Values that are drawn as they are, whatever lies around them; fits find them (htfm/data/far_dates.h).
  std::vector<double> apart = {};

  bool is_category() const { return kind == ColumnKind::category; }
  /// A value as a file has it; empty where it is missing. Numbers are not asked for here.
  std::string text(double value) const;
  bool operator==(const TableColumn&) const = default;
};

/// How cells of such columns are written: texts of categories and dates, nothing for a missing value. Empty where
/// `columns` is.
CellText cell_text(const std::vector<TableColumn>& columns);

/// Whether one of the columns is more than numbers; `columns` may be empty.
bool any_texts(const std::vector<TableColumn>& columns);

}  // namespace htfm
