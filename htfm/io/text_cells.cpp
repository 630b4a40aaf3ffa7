#include "htfm/io/text_cells.h"

#include <bit>
#include <cmath>

namespace htfm {

namespace {

constexpr uint64_t kQuietNan = 0x7ff8000000000000, kPayload = 0x0003ffffffffffff;

}  // namespace

double text_value(int64_t k) { return std::bit_cast<double>(kQuietNan | (static_cast<uint64_t>(k + 1) & kPayload)); }

int64_t text_place(double value) {
  return std::isnan(value) ? static_cast<int64_t>(std::bit_cast<uint64_t>(value) & kPayload) - 1 : -1;
}

double TextColumn::add(std::string text, int64_t line) {
  const auto [found, fresh] = places_.try_emplace(std::move(text), static_cast<int64_t>(cells_.size()));
  if (fresh) cells_.push_back({found->first, line, 0});
  ++cells_[static_cast<size_t>(found->second)].count;
  return text_value(found->second);
}

}  // namespace htfm
