// Parts of a data set by time: the fields to train on and those that are held out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/field/calendar.h"

namespace htfm {

/// A choice of times: years (2019,2020), months of a year (2019-06), months of every year (06), or the last share of
/// the times in their order (0.25). Empty text chooses nothing.
class TimePart {
 public:
  /// InputError, which names `key`, for anything else.
  TimePart(const std::string& text, const std::string& key);

  /// Whether it asks for years or months.
  bool by_date() const { return !years_.empty() || !months_.empty() || !every_year_.empty(); }
  bool empty() const { return years_.empty() && months_.empty() && every_year_.empty() && share_ == 0; }
  /// Which of the times are chosen; equal times fall together.
  std::vector<bool> of(const std::vector<int64_t>& times, Calendar calendar = Calendar::gregorian) const;

 private:
  std::vector<int64_t> years_, months_, every_year_;  // months as 12 year + month
  double share_ = 0;
};

}  // namespace htfm
