#include "htfm/field/netcdf_time_module.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "htfm/base/error.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr int kLastYear = 28'000;       // before and after the year 0: dates are counted in numbers of 16 bits
constexpr double kLastSecond = 8.5e11;  // of times, from 1970: some 26,900 years
constexpr double kLongestSpan = 1e11;   // seconds, which are added to a time

constexpr const char* kSince = " since ";
constexpr const char* kAbsolute = " as %Y%m%d.%f";  // the day as a number, 20190610.25: how CDO writes absolute times

// 0: not one of them.
double seconds_of_unit(const std::string& name) {
  const std::string unit = lower_case(name);
  for (const auto& [word, seconds] : {std::pair{"nanosecond", 1e-9},
                                      {"ns", 1e-9},
                                      {"microsecond", 1e-6},
                                      {"us", 1e-6},
                                      {"millisecond", 1e-3},
                                      {"msec", 1e-3},
                                      {"ms", 1e-3},
                                      {"second", 1.0},
                                      {"sec", 1.0},
                                      {"s", 1.0},
                                      {"minute", 60.0},
                                      {"min", 60.0},
                                      {"hour", 3600.0},
                                      {"hr", 3600.0},
                                      {"h", 3600.0},
                                      {"day", 86400.0},
                                      {"d", 86400.0},
                                      {"week", 604800.0}})
    if (unit == word || unit == std::string(word) + "s") return seconds;
  return 0;
}

// What stands behind a date: nothing, Z, UTC, or hours and minutes east of Greenwich. Seconds; -1e9 where it is none.
double zone_seconds(std::string text) {
  while (!text.empty() && text.front() == ' ') text.erase(0, 1);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (text.empty() || text == "Z" || text == "UTC" || text == "GMT" || text == "utc") return 0;
  int hours = 0, minutes = 0, used = 0;
  const bool west = text.front() == '-';
  if (text.front() == '-' || text.front() == '+') text.erase(0, 1);
  if ((std::sscanf(text.c_str(), "%2d:%2d%n", &hours, &minutes, &used) == 2 ||
       std::sscanf(text.c_str(), "%2d%2d%n", &hours, &minutes, &used) == 2 ||
       std::sscanf(text.c_str(), "%2d%n", &hours, &used) == 1) &&
      used == static_cast<int>(text.size()))
    return (west ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
  return -1e9;
}

// A time of the day: "12", "12:30", "12:30:15.5", "1230", after a space or a T.
struct ClockTime {
  int hour = 0, minute = 0;
  double second = 0;
};

// Reads one from the front of a text and leaves what follows; nothing where the text goes on with something else.
ClockTime take_clock(std::string& text) {
  ClockTime out;
  int end = 0, more = 0;
  if (text.find_first_not_of(" T_") == std::string::npos) return out;
  const char* c = text.c_str() + text.find_first_not_of(" T_");
  if (std::isdigit(static_cast<unsigned char>(*c)) == 0) return out;
  if (std::sscanf(c, "%2d:%2d%n", &out.hour, &out.minute, &end) == 2 && end > 0) {
    if (std::sscanf(c + end, ":%lf%n", &out.second, &more) == 1) end += more;  // seconds may be missing
  } else {
    out.minute = 0, end = 0;
    if (std::sscanf(c, "%2d%2d%n", &out.hour, &out.minute, &end) != 2 || end == 0)
      out.minute = 0, std::sscanf(c, "%2d%n", &out.hour, &end);
  }
  text.erase(0, static_cast<size_t>(c - text.c_str() + end));
  return out;
}

bool within(double value, double least, double most) { return value >= least && value <= most; }

bool is_date(int year, int month, int day, const ClockTime& t) {
  return within(year, -kLastYear, kLastYear) && within(month, 1, 12) && within(day, 1, 31) && within(t.hour, 0, 24) &&
         within(t.minute, 0, 60) && within(t.second, 0, 61);
}

// Times as text, a row each: "2019-06-10_06:00:00", as WRF writes them.
NetcdfTimes read_text_times(const NetcdfVariable& v) {
  NetcdfTimes out;
  for (const std::string& row : v.words()) {
    int year = 0, month = 0, day = 0, end = 0;
    const int read = std::sscanf(row.c_str(), "%d-%d-%d%n", &year, &month, &day, &end);
    std::string rest = row.substr(static_cast<size_t>(end));
    const ClockTime t = take_clock(rest);
    if (read < 3 || !rest.empty() || !is_date(year, month, day, t))
      throw InputError("[netcdf] {}: expected times such as 2019-06-10_06:00:00 in '{}', got {}", v.file(), v.name,
                       in_quotes(row));
    out.seconds.push_back(seconds_since_1970({year, month, day, t.hour, t.minute, 0}) + std::llround(t.second));
  }
  return out;
}

// Days as numbers, 20190610.25.
NetcdfTimes read_absolute_times(const NetcdfVariable& v, Calendar calendar) {
  NetcdfTimes out{.calendar = calendar};
  for (const double t : v.all()) {
    const double whole = std::floor(t);
    const auto date = std::isfinite(t) && std::abs(t) < 3e8 ? static_cast<int64_t>(whole) : 0;
    const int64_t year = date / 10000, month = date / 100 % 100, day = date % 100;
    if (date <= 0 || !within(static_cast<double>(month), 1, 12) || !within(static_cast<double>(day), 1, 31))
      throw InputError("[netcdf] {}: expected days such as 20190610.25 in '{}', got {}", v.file(), v.name, t);
    out.seconds.push_back(seconds_since_1970({year, month, day, 0, 0, 0}, calendar) +
                          std::llround((t - whole) * 86400));
  }
  return out;
}

}  // namespace

bool is_netcdf_time(const NetcdfVariable& v) {
  const std::string units = v.text("units");
  return lower_case(units).find(kSince) != std::string::npos || units.ends_with(kAbsolute);
}

NetcdfTimes read_netcdf_times(const NetcdfVariable& v) {
  if (!v.numeric()) return read_text_times(v);
  const std::string units = v.text("units"), name = lower_case(v.text("calendar"));
  const std::optional<Calendar> calendar = calendar_by_name(name);
  if (!calendar)
    throw InputError(
        "[netcdf] {}: expected a calendar of the CF conventions (standard, noleap, all_leap, 360_day, julian) for "
        "'{}', got {}",
        v.file(), v.name, in_quotes(v.text("calendar")));
  if (units.ends_with(kAbsolute)) return read_absolute_times(v, *calendar);
  const size_t at = lower_case(units).find(kSince);
  double step = seconds_of_unit(units.substr(0, at));
  const std::string unit = lower_case(units.substr(0, at));
  if (unit == "month" || unit == "months") {
    if (*calendar != Calendar::days360)
      throw InputError(
          "[netcdf] {}: expected a time in seconds, minutes, hours or days for '{}', got {}: months are not equally "
          "long "
          "in this calendar (in Python xarray and pandas make days of them)",
          v.file(), v.name, in_quotes(units));
    step = 30 * 86400.0;
  }
  int year = 0, month = 0, day = 0, end = 0;
  std::string rest = units.substr(at + std::strlen(kSince));
  const int read = std::sscanf(rest.c_str(), "%d-%d-%d%n", &year, &month, &day, &end);
  rest.erase(0, static_cast<size_t>(end));
  const ClockTime clock = take_clock(rest);
  const double zone = read >= 3 ? zone_seconds(rest) : 0;
  if (step == 0 || read < 3 || !is_date(year, month, day, clock) || zone < -1e8)
    throw InputError("[netcdf] {}: expected a time in seconds, minutes, hours or days since a date for '{}', got {}",
                     v.file(), v.name, in_quotes(units));
  const Moment moment{year, month, day, clock.hour, clock.minute, 0};
  int64_t from = seconds_since_1970(moment, *calendar);
  // The standard calendar is the Julian one before 15 October 1582, which followed the 4th.
  const bool mixed = name.empty() || name == "standard" || name == "gregorian";
  if (mixed && year * 10000 + month * 100 + day < 15821015)
    from = seconds_since_1970(moment, Calendar::julian) - seconds_since_1970({1582, 10, 5}, Calendar::julian) +
           seconds_since_1970({1582, 10, 15});
  NetcdfTimes out{.calendar = *calendar};
  for (const double t : v.all()) {
    const double seconds = static_cast<double>(from) + clock.second - zone + t * step;
    if (!within(seconds, -kLastSecond, kLastSecond))
      throw InputError("[netcdf] {}: expected times in '{}' within 26,900 years of 1970, got {}", v.file(), v.name,
                       std::isnan(t) ? "a missing one" : fmt::format("{} {}", t, units));
    out.seconds.push_back(std::llround(seconds));
  }
  return out;
}

bool is_netcdf_span(const NetcdfVariable& v) { return seconds_of_unit(v.text("units")) > 0; }

std::vector<int64_t> read_netcdf_spans(const NetcdfVariable& v) {
  const double step = seconds_of_unit(v.text("units"));
  if (step == 0)
    throw InputError("[netcdf] {}: expected a span of seconds, minutes, hours or days for '{}', got {}", v.file(),
                     v.name, in_quotes(v.text("units")));
  std::vector<int64_t> out;
  for (const double t : v.all()) {
    if (!(std::abs(t * step) <= kLongestSpan))
      throw InputError("[netcdf] {}: expected spans of time of at most 3,168 years in '{}', got {}", v.file(), v.name,
                       std::isnan(t) ? "a missing one" : fmt::format("{} {}", t, v.text("units")));
    out.push_back(std::llround(t * step));
  }
  return out;
}

}  // namespace htfm
