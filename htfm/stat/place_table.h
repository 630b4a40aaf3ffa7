// Where values stand among many ascending ones, by a table instead of a search.
#pragma once

#include <algorithm>
#include <bit>
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
    while (last - first > 8) {
      const double* middle = first + (last - first) / 2;
      *middle < value ? first = middle + 1 : last = middle;
    }
    int64_t place = first - sorted.data();
    for (; first != last; ++first) place += *first < value ? 1 : 0;  // a few: counted without a branch
    return place;
  }

 private:
  // Whole numbers in the order of the doubles: cells of equal width in them have equal widths in the logarithm, nearly,
  // so that a far tail takes few of them.
  static uint64_t ordered_bits(double x) {
    const auto bits = std::bit_cast<uint64_t>(x + 0.0);  // -0 is 0
    return bits ^ (static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63) | (uint64_t{1} << 63));
  }
  int64_t cell_of(double value) const {
    const uint64_t bits = ordered_bits(value);
    if (bits < low_) return 0;
    const uint64_t inner = (bits - low_) >> shift_;  // may be beyond what int64_t holds
    return inner + 1 < static_cast<uint64_t>(cells_) ? static_cast<int64_t>(inner) + 1 : cells_ - 1;
  }

  uint64_t low_ = 0;  // the leading bits at which the second cell begins
  int shift_ = 0;
  int64_t cells_ = 1;
  std::vector<uint32_t> begin_ = {0, 0};  // of each cell among the values, and the end
};

}  // namespace htfm
