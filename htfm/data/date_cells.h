// Parts of a date as cells of a period: months of a year, days of a week, hours of a day.
#pragma once

#include <cstdint>

#include "htfm/data/discrete_part.h"

namespace htfm {

inline constexpr double kDaySeconds = 86400, kYearDays = 365.2425;

/// In the units of the column.
struct PartCells {
  double period = 0, width = 0;
  int64_t count = 0;
};

/// `seconds`: the column counts them, else days.
PartCells cells_of(DatePart part, bool seconds);
int64_t cell_of(const PartCells& cells, double value);
/// The nearest date in another cell, at the same place in it, between the first and the last.
double moved_to(const PartCells& cells, double value, int64_t cell, double first, double last);

}  // namespace htfm
