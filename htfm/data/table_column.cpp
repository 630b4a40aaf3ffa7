#include "htfm/data/table_column.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/data/dates.h"

namespace htfm {

const char* kind_name(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::category: return "category";
    case ColumnKind::date: return "date";
    default: return "number";
  }
}

ColumnKind kind_by_name(const std::string& name) {
  for (const ColumnKind kind : {ColumnKind::number, ColumnKind::category, ColumnKind::date})
    if (name == kind_name(kind)) return kind;
  throw InputError("[table] expected number, category or date as the kind of a column, got '{}'", name);
}

std::string TableColumn::text(double value) const {
  if (std::isnan(value)) return {};
  if (kind == ColumnKind::date) return DateForm{date_form}.format(value);
  const auto last = static_cast<double>(categories.size()) - 1;
  return categories.empty() ? std::string() : categories[static_cast<size_t>(std::clamp(std::round(value), 0.0, last))];
}

CellText cell_text(const std::vector<TableColumn>& columns) {
  if (columns.empty()) return {};
  return [columns](int64_t column, double value, std::string& cell) {
    const TableColumn& own = columns[static_cast<size_t>(column)];
    if (own.kind == ColumnKind::number && !std::isnan(value)) return false;
    cell += own.text(value);
    return true;
  };
}

bool any_texts(const std::vector<TableColumn>& columns) {
  return std::any_of(columns.begin(), columns.end(), [](const TableColumn& c) { return c.kind != ColumnKind::number; });
}

}  // namespace htfm
