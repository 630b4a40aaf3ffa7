#include "htfm/data/table_column.h"

#include <algorithm>
#include <cmath>

#include "htfm/data/dates.h"

namespace htfm {

const char* kind_name(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::category: return "category";
    case ColumnKind::date: return "date";
    default: return "number";
  }
}

std::string TableColumn::text(double value) const {
  if (std::isnan(value)) return {};
  if (kind == ColumnKind::date) return DateForm{date_form}.format(value);
  const auto last = static_cast<double>(categories.size()) - 1;
  return categories.empty() ? std::string() : categories[static_cast<size_t>(std::clamp(std::round(value), 0.0, last))];
}

bool any_texts(const std::vector<TableColumn>& columns) {
  return std::any_of(columns.begin(), columns.end(), [](const TableColumn& c) { return c.kind != ColumnKind::number; });
}

}  // namespace htfm
