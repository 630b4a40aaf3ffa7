// Where values stand among many ascending ones, by a table instead of a search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

class PlaceTable {
 public:
  /// Of these, which ascend.
  explicit PlaceTable(std::span<const double> sorted);
  /// How many of them are smaller, `sorted` being the same values again: what std::lower_bound finds.
  int64_t place(std::span<const double> sorted, double value) const {
    const auto cell = static_cast<size_t>(cell_of(value));
    const double *first = sorted.data() + begin_[cell], *last = sorted.data() + begin_[cell + 1];
    while (first != last) {
      const double* middle = first + (last - first) / 2;
      *middle < value ? first = middle + 1 : last = middle;
    }
    return first - sorted.data();
  }

 private:
  int64_t cell_of(double value) const;

  uint64_t low_ = 0;  // the leading bits at which the second cell begins
  int shift_ = 0;
  int64_t cells_ = 1;
  std::vector<uint32_t> begin_ = {0, 0};  // of each cell among the values, and the end
};

}  // namespace htfm
