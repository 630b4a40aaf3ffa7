// Dates and seconds since 1970, in UTC: of the Gregorian calendar, and of those that climate models use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// How the days of a year are counted, by the names of the CF conventions. Seconds since 1970 are counted in each
/// calendar's own days: 1970-02-30 of 360_day is 59 days after its 1970-01-01.
enum class Calendar { gregorian, julian, noleap, all_leap, days360 };

/// CF's standard, gregorian, proleptic_gregorian, noleap, 365_day, all_leap, 366_day, 360_day, julian; none for others.
std::optional<Calendar> calendar_by_name(std::string_view name);
/// "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day".
std::string_view calendar_name(Calendar calendar);

struct Moment {
  int64_t year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;
};

int64_t seconds_since_1970(const Moment& moment, Calendar calendar = Calendar::gregorian);
Moment moment_of(int64_t seconds, Calendar calendar = Calendar::gregorian);
/// "2019-06-10 00:06".
std::string moment_text(int64_t seconds, Calendar calendar = Calendar::gregorian);

}  // namespace htfm
