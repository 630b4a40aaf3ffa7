// Whether the rows of a table go forwards in time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "htfm/io/csv.h"

namespace htfm {

/// How days follow each other in a column of dates.
class DayOrder {
 public:
  void add(std::string_view cell) {
    // Groups of digits: 2020-01-31 12:30:00, 31.1.2020, 1/31/2020.
    std::array<int64_t, 6> group{};
    size_t count = 0, digits = 0, first_digits = 0;
    for (const char c : cell) {
      if (c >= '0' && c <= '9') {
        if (digits++ == 0 && ++count > group.size()) break;
        if (digits > 9) return;
        group[count - 1] = group[count - 1] * 10 + (c - '0');
      } else {
        if (count == 1 && digits > 0) first_digits = digits;
        digits = 0;
      }
    }
    if (count < 3) return;
    const int64_t time = group[3] * 3600 + group[4] * 60 + group[5];
    const auto at = [&](int64_t year, int64_t month, int64_t day) {
      return ((year * 100 + month) * 100 + day) * 1000000 + time;
    };
    const bool year_first = first_digits == 4;
    const std::array<int64_t, 2> now = {
        year_first ? at(group[0], group[1], group[2]) : at(group[2], group[1], group[0]),
        year_first ? at(group[0], group[1], group[2]) : at(group[2], group[0], group[1])};
    if (std::exchange(begun_, true))
      for (size_t k = 0; k < now.size(); ++k) up_[k] |= now[k] > last_[k], down_[k] |= now[k] < last_[k];
    last_ = now;
  }
  /// By the reading of days and months that makes an order, where one does.
  RowOrder order() const {
    if (!begun_) return RowOrder::unknown;
    for (size_t k = 0; k < last_.size(); ++k) {
      if (up_[k] && !down_[k]) return RowOrder::forwards;
      if (down_[k] && !up_[k]) return RowOrder::backwards;
    }
    return up_[0] ? RowOrder::mixed : RowOrder::unknown;
  }

 private:
  bool begun_ = false;
  std::array<int64_t, 2> last_{};  // day before month, month before day
  std::array<bool, 2> up_{}, down_{};
};

}  // namespace htfm
