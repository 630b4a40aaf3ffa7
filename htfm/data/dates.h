// Dates and times as text: read by a form such as "Y-M-D h:m:s", written back by it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The letters of a form: Y a year of four digits, y one of two (1969 to 2068), M a month, N its English name (Jan; L
/// January, U JAN), D a day, h hours, m minutes, s seconds, f a decimal fraction of them, p AM or PM, z how far the
/// clock is ahead of UTC (+01:00, read off the time and written as +00:00); everything else stands for itself.
struct DateForm {
  std::string pattern;

  /// Whether the form has a time of day: values are then seconds since 1970, else days.
  bool has_time() const;
  /// The number that a text stands for; nothing where it does not have the form, or where there is no such day.
  std::optional<double> parse(std::string_view text) const;
  /// The text of a number, which is rounded to what the form can say.
  std::string format(double value) const;
  /// The same form with the other ways to write a month's name; none where it has no name.
  std::vector<DateForm> month_names() const;
};

/// The forms that are tried where none is named, ISO first.
const std::vector<DateForm>& date_forms();
/// The forms with an offset from UTC, tried where none of the others fits.
const std::vector<DateForm>& offset_date_forms();
/// The forms of dates written as whole numbers: 20200131, 202001.
const std::vector<DateForm>& number_date_forms();
/// InputError unless a form has a day or a time, each letter once.
void check_date_form(const std::string& pattern, const std::string& where);

}  // namespace htfm
