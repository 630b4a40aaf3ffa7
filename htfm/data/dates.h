// Dates and times as text: read by a form such as "Y-M-D h:m:s", written back by it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The letters of a form: Y a year of four digits, M a month, N its English name (Jan), D a day, h hours, m minutes,
/// s seconds, f a decimal fraction of them; everything else stands for itself.
struct DateForm {
  std::string pattern;

  /// Whether the form has a time of day: values are then seconds since 1970, else days.
  bool has_time() const;
  /// The number that a text stands for; nothing where it does not have the form, or where there is no such day.
  std::optional<double> parse(std::string_view text) const;
  /// The text of a number, which is rounded to what the form can say.
  std::string format(double value) const;
};

/// The forms that are tried where none is named, ISO first.
const std::vector<DateForm>& date_forms();
/// InputError unless a form has a day or a time, each letter once.
void check_date_form(const std::string& pattern, const std::string& where);

}  // namespace htfm
