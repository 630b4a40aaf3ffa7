#include "htfm/field/time_part.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/base/split.h"

namespace htfm {
namespace {

constexpr double kNothing = -1;

double number(std::string_view text) {
  const double v = parse_number<double>(text).value_or(kNothing);
  return v >= 0 ? v : kNothing;
}

bool contains(const std::vector<int64_t>& list, int64_t v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

}  // namespace

TimePart::TimePart(const std::string& text, const std::string& key) {
  const auto fail = [&] {
    throw InputError("[{}] expected years (2019,2020), months (2019-06 or 06) or a share of the times (0.25), got '{}'",
                     key, text);
  };
  for (const std::string_view word : split(text)) {
    const double v = number(word), month = word.size() == 7 && word[4] == '-' ? number(word.substr(5)) : kNothing;
    if (month >= 1 && month <= 12 && number(word.substr(0, 4)) >= 0)
      months_.push_back(12 * static_cast<int64_t>(number(word.substr(0, 4))) + static_cast<int64_t>(month));
    else if (word.size() == 4 && v >= 1000 && v == std::floor(v))
      years_.push_back(static_cast<int64_t>(v));
    else if (word.size() == 2 && v >= 1 && v <= 12)
      every_year_.push_back(static_cast<int64_t>(v));
    else if (v > 0 && v < 1 && word.size() == text.size())
      share_ = v;
    else
      fail();
  }
}

std::vector<bool> TimePart::of(const std::vector<int64_t>& times, Calendar calendar) const {
  std::vector<bool> out(times.size());
  int64_t from = 0;
  if (share_ > 0 && !times.empty()) {
    std::vector<int64_t> distinct = times;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    const auto n = static_cast<int64_t>(distinct.size());
    from = distinct[static_cast<size_t>(n - std::clamp<int64_t>(std::llround(share_ * static_cast<double>(n)), 1, n))];
  }
  for (size_t i = 0; i < times.size(); ++i) {
    const Moment m = moment_of(times[i], calendar);
    out[i] = share_ > 0 ? times[i] >= from
                        : contains(years_, m.year) || contains(months_, 12 * m.year + m.month) ||
                              contains(every_year_, m.month);
  }
  return out;
}

}  // namespace htfm
