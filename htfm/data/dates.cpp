#include "htfm/data/dates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>

#include "htfm/base/error.h"

namespace htfm {

namespace {

constexpr std::array<const char*, 12> kMonths = {"January", "February", "March",     "April",   "May",      "June",
                                                 "July",    "August",   "September", "October", "November", "December"};
constexpr size_t kShort = 3;           // letters of a month's short name
constexpr int kFirstShortYear = 1969;  // of the hundred years that two digits stand for
constexpr double kDay = 86400;

double days_of(int year, int month, int day) {
  return static_cast<double>(std::chrono::sys_days(std::chrono::year(year) / month / day).time_since_epoch().count());
}

// The whole number of `least` to `most` digits at the beginning of a text, which is taken off; -1 where there is none.
int take_number(std::string_view& text, size_t least, size_t most) {
  int value = 0;
  size_t k = 0;
  while (k < most && k < text.size() && text[k] >= '0' && text[k] <= '9') value = value * 10 + (text[k++] - '0');
  if (k < least) return -1;
  text.remove_prefix(k);
  return value;
}

// Only its first three letters count.
int take_month_name(std::string_view& text) {
  if (text.size() < kShort) return -1;
  for (size_t m = 0; m < kMonths.size(); ++m) {
    bool same = true;
    for (size_t i = 0; i < kShort; ++i)
      same = same && std::tolower(static_cast<unsigned char>(text[i])) == std::tolower(kMonths[m][i]);
    if (!same) continue;
    size_t end = kShort;  // the rest of the whole name
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
    text.remove_prefix(end);
    return static_cast<int>(m) + 1;
  }
  return -1;
}

// 0 for AM, 12 for PM: what is added to the hours, of which 12 are none.
int take_half_of_day(std::string_view& text) {
  if (text.size() < 2 || std::tolower(static_cast<unsigned char>(text[1])) != 'm') return -1;
  const int first = std::tolower(static_cast<unsigned char>(text[0]));
  if (first != 'a' && first != 'p') return -1;
  text.remove_prefix(2);
  return first == 'a' ? 0 : 12;
}

constexpr int kNoOffset = -100 * 3600;

// "+01:00", "-0530": seconds that a clock is ahead of UTC; kNoOffset where there is none.
int take_offset(std::string_view& text) {
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return kNoOffset;
  const int sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  const int hours = take_number(text, 2, 2);
  if (!text.empty() && text.front() == ':') text.remove_prefix(1);
  const int minutes = take_number(text, 2, 2);
  return hours < 0 || hours > 14 || minutes < 0 || minutes > 59 ? kNoOffset : sign * (hours * 3600 + minutes * 60);
}

int take_short_year(std::string_view& text) {
  const int year = take_number(text, 2, 2);
  return year < 0 ? -1 : year + (year < kFirstShortYear % 100 ? 2000 : 1900);
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

double take_fraction(std::string_view& text) {
  double value = 0, unit = 0.1;
  size_t k = 0;
  for (; k < text.size() && text[k] >= '0' && text[k] <= '9'; ++k, unit /= 10) value += unit * (text[k] - '0');
  if (k == 0) return -1;
  text.remove_prefix(k);
  return value;
}

}  // namespace

bool DateForm::has_time() const { return pattern.find('h') != std::string::npos; }

std::optional<double> DateForm::parse(std::string_view text) const {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0, half = 0, ahead = 0;
  double fraction = 0;
  for (const char c : pattern) {
    switch (c) {
      case 'Y': year = take_number(text, 4, 4); break;
      case 'y': year = take_short_year(text); break;
      case 'M': month = take_number(text, 1, 2); break;
      case 'N':
      case 'L':
      case 'U': month = take_month_name(text); break;
      case 'D': day = take_number(text, 1, 2); break;
      case 'h': hour = take_number(text, 1, 2); break;
      case 'm': minute = take_number(text, 2, 2); break;
      case 's': second = take_number(text, 2, 2); break;
      case 'f': fraction = take_fraction(text); break;
      case 'p': half = take_half_of_day(text); break;
      case 'z': ahead = take_offset(text); break;
      default:
        if (text.empty() || text.front() != c) return std::nullopt;
        text.remove_prefix(1);
    }
    const bool read = year >= 0 && month >= 0 && day >= 0 && hour >= 0 && minute >= 0 && second >= 0;
    if (!read || fraction < 0 || half < 0 || ahead == kNoOffset) return std::nullopt;
  }
  if (pattern.find('p') != std::string::npos) {
    if (hour < 1 || hour > 12) return std::nullopt;
    hour = hour % 12 + half;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!text.empty() || !date.ok() || hour > 24 || minute > 59 || second > 60) return std::nullopt;
  const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  return has_time() ? days * kDay + hour * 3600.0 + minute * 60.0 + second + fraction - ahead : days;
}

std::string DateForm::format(double value) const {
  const bool fine = pattern.find('f') != std::string::npos, seconds = pattern.find('s') != std::string::npos;
  const double unit = !has_time() ? 1 : fine ? 0.001 : seconds ? 1 : 60;
  const bool two_digits = pattern.find('y') != std::string::npos;
  const double first = two_digits ? days_of(kFirstShortYear, 1, 1) : days_of(1, 1, 1);
  const double last = two_digits ? days_of(kFirstShortYear + 99, 12, 31) : days_of(9999, 12, 31);
  value = std::round(value / unit) * unit;
  value = has_time() ? std::clamp(value, first * kDay, (last + 1) * kDay - unit) : std::clamp(value, first, last);
  const double whole = has_time() ? std::floor(value / kDay) : value;
  double rest = has_time() ? value - whole * kDay : 0;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(static_cast<int64_t>(whole)))};
  const auto take = [&](double size) {
    const double count = std::floor(rest / size + 1e-9);
    rest = std::max(0.0, rest - count * size);
    return static_cast<int>(count);
  };
  const int hour = take(3600), minute = take(60), second = take(1);
  const bool halves = pattern.find('p') != std::string::npos;
  const std::string month = kMonths[static_cast<unsigned>(date.month()) - 1];
  std::string out;
  for (const char c : pattern) {
    switch (c) {
      case 'Y': out += fmt::format("{:04}", static_cast<int>(date.year())); break;
      case 'M': out += fmt::format("{:02}", static_cast<unsigned>(date.month())); break;
      case 'y': out += fmt::format("{:02}", static_cast<int>(date.year()) % 100); break;
      case 'N': out += month.substr(0, kShort); break;
      case 'L': out += month; break;
      case 'U': out += in_capitals(month.substr(0, kShort)); break;
      case 'D': out += fmt::format("{:02}", static_cast<unsigned>(date.day())); break;
      case 'h': out += fmt::format("{:02}", halves ? (hour + 11) % 12 + 1 : hour); break;
      case 'p': out += hour < 12 ? "AM" : "PM"; break;
      case 'm': out += fmt::format("{:02}", minute); break;
      case 's': out += fmt::format("{:02}", second); break;
      case 'f': out += fmt::format("{:03}", static_cast<int>(std::floor(rest * 1000 + 1e-6))); break;
      case 'z': out += "+00:00"; break;
      default: out += c;
    }
  }
  return out;
}

std::vector<DateForm> DateForm::month_names() const {
  const size_t at = pattern.find('N');
  if (at == std::string::npos) return {};
  std::vector<DateForm> out;
  for (const char letter : {'L', 'U'}) out.push_back({pattern.substr(0, at) + letter + pattern.substr(at + 1)});
  return out;
}

const std::vector<DateForm>& number_date_forms() {
  static const std::vector<DateForm> all = {{"YMD"}, {"YMDhms"}, {"YMDhm"}, {"YM"}};
  return all;
}

const std::vector<DateForm>& offset_date_forms() {
  static const std::vector<DateForm> all = [] {
    std::vector<DateForm> out;
    for (const char* date : {"Y-M-D", "Y/M/D", "D.M.Y", "D/M/Y", "M/D/Y"})
      for (const char* time : {"Th:m:s", " h:m:s", "Th:m:s.f", " h:m:s.f", "Th:m", " h:m"})
        for (const char* offset : {"z", " z"}) out.push_back({std::string(date) + time + offset});
    return out;
  }();
  return all;
}

const std::vector<DateForm>& date_forms() {
  static const std::vector<DateForm> all = [] {
    std::vector<DateForm> out;
    for (const char* date : {"Y-M-D",  "Y/M/D", "Y.M.D", "D.M.Y", "D/M/Y", "M/D/Y", "D-M-Y", "M-D-Y", "D N Y", "D-N-Y",
                             "N D, Y", "N D Y", "Y-N-D", "DNY",   "D.M.y", "D/M/y", "M/D/y", "D-M-y", "D-N-y", "DNy"})
      for (const char* time : {"", " h:m:s", "Th:m:s", " h:m", "Th:m", "Th:m:sZ", " h:m:s.f", "Th:m:s.f", "Th:m:s.fZ",
                               " h:m:s p", " h:m p", " h:m:s+00:00", "Th:m:s+00:00", " h:m:s.f+00:00", ":h:m:s"})
        out.push_back({std::string(date) + time});
    for (const char* other : {"Y-M", "M/Y", "N Y", "h:m:s", "h:m", "h:m:s.f"}) out.push_back({other});
    return out;
  }();
  return all;
}

void check_date_form(const std::string& pattern, const std::string& where) {
  const auto count = [&](char c) { return std::count(pattern.begin(), pattern.end(), c); };
  bool once = true;
  for (const char c : {'D', 'h', 'm', 's', 'f', 'p'}) once = once && count(c) <= 1;
  const auto months = count('M') + count('N') + count('L') + count('U'), years = count('Y') + count('y');
  const bool day = years == 1 && months == 1, time = count('h') == 1 && count('m') == 1;
  if (once && years <= 1 && months <= 1 && (day || time)) return;
  throw InputError(
      "[{}] expected a form of dates with Y (y for two digits), M (N, L or U for a name) and D, h, m, s and p, each "
      "once, as in Y-M-D h:m; got '{}'",
      where, pattern);
}

}  // namespace htfm
