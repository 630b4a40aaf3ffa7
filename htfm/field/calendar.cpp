#include "htfm/field/calendar.h"

#include <fmt/format.h>

#include <chrono>

namespace htfm {

using namespace std::chrono;

int64_t seconds_since_1970(const Moment& m) {
  const year_month_day date{year(static_cast<int>(m.year)), month(static_cast<unsigned>(m.month)),
                            day(static_cast<unsigned>(m.day))};
  return sys_days(date).time_since_epoch().count() * int64_t{86400} + m.hour * 3600 + m.minute * 60 + m.second;
}

Moment moment_of(int64_t seconds) {
  const int64_t days_before = seconds >= 0 ? seconds / 86400 : -((-seconds + 86399) / 86400),
                rest = seconds - days_before * 86400;
  const year_month_day date{sys_days(days(days_before))};
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          rest / 3600,
          rest / 60 % 60,
          rest % 60};
}

std::string moment_text(int64_t seconds) {
  const Moment m = moment_of(seconds);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", m.year, m.month, m.day, m.hour, m.minute);
}

}  // namespace htfm
