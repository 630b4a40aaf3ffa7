// Parts of a date as cells of a period: months of a year, days of a week, hours of a day; and the grid that the dates
// of a column lie on: whole minutes, midnights, the first or the last day of a month.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/data/discrete_part.h"

namespace htfm {

inline constexpr double kDaySeconds = 86400, kYearDays = 365.2425;

/// What all dates of a column have in common.
struct DateGrid {
  double unit = 0;       ///< between neighbours, a day at most; 0: any value
  int day_of_month = 0;  ///< 1 to 30, in shorter months their last; 31: the last; 0: any

  /// Of dates in days, or in seconds. Fewer than three different months do not tell a day of the month.
  static DateGrid of(const std::vector<double>& dates, bool seconds);
  /// ", each on day 1 of its month"; empty where dates have nothing in common that their form does not say.
  std::string describe(const std::string& form) const;
};

class DateCells {
 public:
  /// Of dates from `first` to `last`, in days or in seconds.
  DateCells(DatePart part, bool seconds, DateGrid grid, double first, double last);
  explicit DateCells(const DiscreteColumn& part);

  int64_t count() const;
  int64_t of(double value) const;
  /// The nearest date of the grid in another cell, at the same place in it, between the first and the last.
  double moved(double value, int64_t cell) const;
  /// What DiscreteColumn::values holds of them.
  std::vector<double> values() const;
  const DateGrid& grid() const { return grid_; }

 private:
  bool by_months() const { return part_ == DatePart::year && grid_.day_of_month > 0; }
  double moved_to_month(double value, int64_t month) const;
  DatePart part_;
  DateGrid grid_;
  double day_, first_, last_;
};

}  // namespace htfm
