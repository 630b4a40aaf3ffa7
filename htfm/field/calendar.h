// Dates of the Gregorian calendar and seconds since 1970, in UTC.
#pragma once

#include <cstdint>
#include <string>

namespace htfm {

struct Moment {
  int64_t year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;
};

int64_t seconds_since_1970(const Moment& moment);
Moment moment_of(int64_t seconds);
/// "2019-06-10 00:06".
std::string moment_text(int64_t seconds);

}  // namespace htfm
