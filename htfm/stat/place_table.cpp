#include "htfm/stat/place_table.h"

namespace htfm {

PlaceTable::PlaceTable(std::span<const double> sorted) {
  constexpr size_t kMostCells = 1 << 18, kOutside = 1024;  // one value of so many on each side has the outer cells
  const size_t n = sorted.size();
  if (n == 0) return;
  const size_t outside = n / kOutside, most = std::clamp<size_t>(n, 16, kMostCells);
  low_ = ordered_bits(sorted[outside]);
  const uint64_t width = ordered_bits(sorted[n - 1 - outside]) - low_;
  while ((width >> shift_) >= most) ++shift_;
  cells_ = static_cast<int64_t>(width >> shift_) + 3;
  begin_.assign(static_cast<size_t>(cells_) + 1, static_cast<uint32_t>(n));
  for (size_t k = n; k-- > 0;) begin_[static_cast<size_t>(cell_of(sorted[k]))] = static_cast<uint32_t>(k);
  for (auto cell = static_cast<size_t>(cells_); cell-- > 0;) begin_[cell] = std::min(begin_[cell], begin_[cell + 1]);
}

}  // namespace htfm
