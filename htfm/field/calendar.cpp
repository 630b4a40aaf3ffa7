#include "htfm/field/calendar.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

namespace htfm {
namespace {

constexpr std::array<int64_t, 13> kDaysBefore{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// Days before a month in a year of 12 unequal months; `leap` adds a 29 February.
int64_t days_before_month(int64_t month, bool leap) {
  return kDaysBefore[static_cast<size_t>(month - 1)] + (leap && month > 2);
}

int64_t days_before_year(int64_t year, Calendar calendar) {
  switch (calendar) {
    case Calendar::noleap: return 365 * year;
    case Calendar::all_leap: return 366 * year;
    case Calendar::days360: return 360 * year;
    default: return 365 * year + floor_divide(year + 3, 4);  // Julian: every fourth year, and year 0, is a leap year
  }
}

bool is_leap(int64_t year, Calendar calendar) {
  return calendar == Calendar::all_leap || (calendar == Calendar::julian && floor_divide(year, 4) * 4 == year);
}

int64_t day_of(const Moment& m, Calendar calendar) {
  using namespace std::chrono;
  if (calendar == Calendar::gregorian)
    return sys_days(year_month_day{year(static_cast<int>(m.year)), month(static_cast<unsigned>(m.month)),
                                   day(static_cast<unsigned>(m.day))})
        .time_since_epoch()
        .count();
  const int64_t before =
      calendar == Calendar::days360 ? 30 * (m.month - 1) : days_before_month(m.month, is_leap(m.year, calendar));
  return days_before_year(m.year, calendar) - days_before_year(1970, calendar) + before + m.day - 1;
}

Moment date_of(int64_t days, Calendar calendar) {
  using namespace std::chrono;
  if (calendar == Calendar::gregorian) {
    const year_month_day date{sys_days(std::chrono::days(days))};
    return {static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day())};
  }
  days += days_before_year(1970, calendar);
  int64_t year = floor_divide(days, days < 0 ? 360 : 366);  // not too late
  while (days_before_year(year + 1, calendar) <= days) ++year;
  days -= days_before_year(year, calendar);
  if (calendar == Calendar::days360) return {year, days / 30 + 1, days % 30 + 1};
  int64_t month = 12;
  while (days_before_month(month, is_leap(year, calendar)) > days) --month;
  return {year, month, days - days_before_month(month, is_leap(year, calendar)) + 1};
}

}  // namespace

std::optional<Calendar> calendar_by_name(std::string_view name) {
  if (name.empty() || name == "standard" || name == "gregorian" || name == "proleptic_gregorian")
    return Calendar::gregorian;
  if (name == "noleap" || name == "365_day") return Calendar::noleap;
  if (name == "all_leap" || name == "366_day") return Calendar::all_leap;
  if (name == "360_day") return Calendar::days360;
  if (name == "julian") return Calendar::julian;
  return std::nullopt;
}

std::string_view calendar_name(Calendar calendar) {
  switch (calendar) {
    case Calendar::noleap: return "noleap";
    case Calendar::all_leap: return "all_leap";
    case Calendar::days360: return "360_day";
    case Calendar::julian: return "julian";
    default: return "proleptic_gregorian";
  }
}

int64_t seconds_since_1970(const Moment& m, Calendar calendar) {
  return day_of(m, calendar) * int64_t{86400} + m.hour * 3600 + m.minute * 60 + m.second;
}

Moment moment_of(int64_t seconds, Calendar calendar) {
  const int64_t days = floor_divide(seconds, 86400), rest = seconds - days * 86400;
  Moment out = date_of(days, calendar);
  out.hour = rest / 3600, out.minute = rest / 60 % 60, out.second = rest % 60;
  return out;
}

std::string moment_text(int64_t seconds, Calendar calendar) {
  const Moment m = moment_of(seconds, calendar);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", m.year, m.month, m.day, m.hour, m.minute);
}

}  // namespace htfm
