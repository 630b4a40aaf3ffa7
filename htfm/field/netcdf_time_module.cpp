#include "htfm/field/netcdf_time_module.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "htfm/base/error.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr int kLastYear = 28'000;       // before and after the year 0: dates are counted in numbers of 16 bits
constexpr double kLastSecond = 8.5e11;  // of times, from 1970: some 26,900 years
constexpr double kLongestSpan = 1e11;   // seconds, which are added to a time

// 0: not one of them.
double seconds_of_unit(const std::string& unit) {
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

}  // namespace

bool is_netcdf_time(const NetcdfVariable& v) { return v.text("units").find(" since ") != std::string::npos; }

NetcdfTimes read_netcdf_times(const NetcdfVariable& v) {
  const std::string units = v.text("units"), name = v.text("calendar");
  const std::optional<Calendar> calendar = calendar_by_name(name);
  if (!calendar)
    throw InputError(
        "[netcdf] {}: expected a calendar of the CF conventions (standard, noleap, all_leap, 360_day, julian) for "
        "'{}', got {}",
        v.file(), v.name, in_quotes(name));
  const size_t at = units.find(" since ");
  const double step = seconds_of_unit(units.substr(0, at));
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, date_end = 0, end = 0;
  double second = 0;
  const std::string date = units.substr(at + 7);
  const int read =
      std::sscanf(date.c_str(), "%d-%d-%d%n%*[ T]%d:%d%n", &year, &month, &day, &date_end, &hour, &minute, &end);
  if (end > 0) {  // seconds may be missing
    int more = 0;
    if (std::sscanf(date.c_str() + end, ":%lf%n", &second, &more) == 1) end += more;
  } else {
    end = date_end, hour = minute = 0;
  }
  const double zone = read >= 3 ? zone_seconds(date.substr(static_cast<size_t>(end))) : 0;
  const auto within = [](double value, double least, double most) { return value >= least && value <= most; };
  if (step == 0 || read < 3 || !within(year, -kLastYear, kLastYear) || !within(month, 1, 12) || !within(day, 1, 31) ||
      !within(hour, 0, 24) || !within(minute, 0, 60) || !within(second, 0, 61) || zone < -1e8)
    throw InputError("[netcdf] {}: expected a time in seconds, minutes, hours or days since a date for '{}', got {}",
                     v.file(), v.name, in_quotes(units));
  const Moment moment{year, month, day, hour, minute, 0};
  int64_t from = seconds_since_1970(moment, *calendar);
  // The standard calendar is the Julian one before 15 October 1582, which followed the 4th.
  const bool mixed = name.empty() || name == "standard" || name == "gregorian";
  if (mixed && year * 10000 + month * 100 + day < 15821015)
    from = seconds_since_1970(moment, Calendar::julian) - seconds_since_1970({1582, 10, 5}, Calendar::julian) +
           seconds_since_1970({1582, 10, 15});
  NetcdfTimes out{.calendar = *calendar};
  for (const double t : v.all()) {
    const double seconds = static_cast<double>(from) + second - zone + t * step;
    if (!within(seconds, -kLastSecond, kLastSecond))
      throw InputError("[netcdf] {}: expected times in '{}' within 26,900 years of 1970, got {}", v.file(), v.name,
                       std::isnan(t) ? "a missing one" : fmt::format("{} {}", t, units));
    out.seconds.push_back(std::llround(seconds));
  }
  return out;
}

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
