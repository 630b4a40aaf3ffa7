#include "htfm/data/date_cells.h"

#include <algorithm>
#include <cmath>

namespace htfm {

PartCells cells_of(DatePart part, bool seconds) {
  const double day = seconds ? kDaySeconds : 1;
  switch (part) {
    case DatePart::year: return {kYearDays * day, kYearDays * day / 12, 12};
    case DatePart::week: return {7 * day, day, 7};
    case DatePart::day: return {day, day / 24, 24};
    default: return {};
  }
}

int64_t cell_of(const PartCells& cells, double value) {
  return std::min(static_cast<int64_t>((value - cells.period * std::floor(value / cells.period)) / cells.width),
                  cells.count - 1);
}

double moved_to(const PartCells& cells, double value, int64_t cell, double first, double last) {
  const int64_t now = cell_of(cells, value);
  double by = static_cast<double>(cell - now) * cells.width;
  if (by > cells.period / 2) by -= cells.period;
  if (by <= -cells.period / 2) by += cells.period;
  const double to = value + by;
  if (to > last && to - cells.period >= first) return to - cells.period;
  if (to < first && to + cells.period <= last) return to + cells.period;
  return to;
}

}  // namespace htfm
