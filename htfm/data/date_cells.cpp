#include "htfm/data/date_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace htfm {

namespace {

constexpr int kLastDay = 31;                         // of every month
constexpr double kFarthest = 5e6;                    // days from 1970; what a calendar counts
constexpr double kExact = 9007199254740992.0;        // 2^53
constexpr size_t kPlaceOfUnit = 2, kPlaceOfDay = 3;  // in DiscreteColumn::values

std::chrono::year_month_day day_of(double days) {
  const double within = std::clamp(std::floor(days), -kFarthest, kFarthest);
  return std::chrono::sys_days(std::chrono::days(static_cast<int64_t>(within)));
}

int last_of(const std::chrono::year_month& month) {
  return static_cast<int>(static_cast<unsigned>((month / std::chrono::last).day()));
}

// The length and the number of a part's cells, in days.
struct Period {
  double length = 0;
  int64_t count = 0;
};

Period period_of(DatePart part) {
  switch (part) {
    case DatePart::year: return {kYearDays, 12};
    case DatePart::week: return {7, 7};
    case DatePart::day: return {1, 24};
    default: return {};
  }
}

}  // namespace

DateGrid DateGrid::of(const std::vector<double>& dates, bool seconds) {
  if (dates.empty()) return {};
  DateGrid out{.unit = 1};
  const double day = seconds ? kDaySeconds : 1;
  if (seconds) {
    auto gap = static_cast<int64_t>(kDaySeconds);
    for (const double v : dates) {
      if (v != std::trunc(v) || std::abs(v) >= kExact) return {};
      gap = std::gcd(gap, static_cast<int64_t>(v) - static_cast<int64_t>(dates.front()));
    }
    out.unit = static_cast<double>(gap);
    if (out.unit < kDaySeconds) return out;
  }
  std::set<std::chrono::year_month> months;
  int latest = 0;
  for (const double v : dates)
    latest = std::max(latest, static_cast<int>(static_cast<unsigned>(day_of(v / day).day())));
  bool same = true, end = true;
  for (const double v : dates) {
    const std::chrono::year_month_day date = day_of(v / day);
    const std::chrono::year_month month{date.year(), date.month()};
    const auto own = static_cast<int>(static_cast<unsigned>(date.day()));
    same = same && own == std::min(latest, last_of(month)), end = end && own == last_of(month);
    if (!same && !end) return out;
    months.insert(month);
  }
  if (months.size() >= 3) out.day_of_month = end ? kLastDay : latest;
  return out;
}

std::string DateGrid::describe(const std::string& form) const {
  if (day_of_month == kLastDay) return ", each on the last day of its month";
  if (day_of_month > 0 && form.find('D') != std::string::npos)
    return fmt::format(", each on day {} of its month", day_of_month);
  const bool has_seconds = form.find('s') != std::string::npos;
  if (form.find('h') == std::string::npos || unit <= (has_seconds ? 1 : 60)) return {};
  if (unit == kDaySeconds) return ", all at the same time of day";
  const auto whole = static_cast<int64_t>(unit);
  if (whole % 3600 == 0) return fmt::format(", in steps of {} h", whole / 3600);
  return whole % 60 == 0 ? fmt::format(", in steps of {} min", whole / 60) : fmt::format(", in steps of {} s", whole);
}

DateCells::DateCells(DatePart part, bool seconds, DateGrid grid, double first, double last)
    : part_(part), grid_(grid), day_(seconds ? kDaySeconds : 1), first_(first), last_(last) {}

DateCells::DateCells(const DiscreteColumn& part)
    : DateCells(part.part, part.flows,
                {.unit = part.flows ? part.values[kPlaceOfUnit] : 1,
                 .day_of_month = part.values[kPlaceOfDay] >= 1 && part.values[kPlaceOfDay] <= kLastDay
                                     ? static_cast<int>(part.values[kPlaceOfDay])
                                     : 0},
                part.values[0], part.values[1]) {}

int64_t DateCells::count() const { return period_of(part_).count; }

std::vector<double> DateCells::values() const {
  std::vector<double> out(static_cast<size_t>(count()));
  out[0] = first_, out[1] = last_, out[kPlaceOfUnit] = grid_.unit, out[kPlaceOfDay] = grid_.day_of_month;
  return out;
}

int64_t DateCells::of(double value) const {
  if (by_months()) return static_cast<int64_t>(static_cast<unsigned>(day_of(value / day_).month())) - 1;
  const Period p = period_of(part_);
  const double length = p.length * day_, width = length / static_cast<double>(p.count);
  return std::min(static_cast<int64_t>((value - length * std::floor(value / length)) / width), p.count - 1);
}

double DateCells::moved(double value, int64_t cell) const {
  if (by_months()) return moved_to_month(value, cell);
  const Period p = period_of(part_);
  const double length = p.length * day_, width = length / static_cast<double>(p.count);
  double by = static_cast<double>(cell - of(value)) * width;
  if (by > length / 2) by -= length;
  if (by <= -length / 2) by += length;
  double to = value + by;
  if (to > last_ && to - length >= first_)
    to -= length;
  else if (to < first_ && to + length <= last_)
    to += length;
  return grid_.unit > 0 ? first_ + std::round((to - first_) / grid_.unit) * grid_.unit : to;
}

double DateCells::moved_to_month(double value, int64_t month) const {
  const double days = std::floor(value / day_), time = first_ - std::floor(first_ / day_) * day_;
  double best = value, least = std::numeric_limits<double>::infinity();
  bool within = false;
  for (int by = -1; by <= 1; ++by) {
    const std::chrono::year_month own{day_of(days).year() + std::chrono::years(by),
                                      std::chrono::month(static_cast<unsigned>(month + 1))};
    const auto day = static_cast<unsigned>(std::min(grid_.day_of_month, last_of(own)));
    const std::chrono::sys_days date{own / std::chrono::day(day)};
    const double to = static_cast<double>(date.time_since_epoch().count()) * day_ + time;
    const bool in = to >= first_ && to <= last_;
    if (in < within || (in == within && std::abs(to - value) >= least)) continue;
    best = to, least = std::abs(to - value), within = in;
  }
  return best;
}

}  // namespace htfm
