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
    while (last - first > kCounted) {
      const double* middle = first + (last - first) / 2;
      *middle < value ? first = middle + 1 : last = middle;
    }
    if (sorted.size() < kCounted) return std::lower_bound(first, last, value) - sorted.data();
    // A few are counted without a branch, which would be guessed wrong half of the time. Those below `first` are
    // smaller and those from `last` on are not, so some of them may lie outside.
    first = std::min(first, sorted.data() + sorted.size() - kCounted);
    return first - sorted.data() + count_below(first, value);
  }

 private:
  static constexpr int kCounted = 16;
  // How many of kCounted values are smaller.
  static int64_t count_below(const double* values, double value) {
    typedef double Pair __attribute__((vector_size(16), aligned(8)));
    typedef int64_t Counts __attribute__((vector_size(16)));
    const Pair bound{value, value};
    Counts count{};
#pragma GCC unroll 8
    for (int k = 0; k < kCounted; k += 2) count -= *reinterpret_cast<const Pair*>(values + k) < bound;
    return count[0] + count[1];
  }

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
