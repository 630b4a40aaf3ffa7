#include "htfm/stat/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace htfm {
namespace {

constexpr size_t kShort = 512;  // below this, comparing is faster than counting
constexpr int kPasses = 8;

/// Orders like the numbers: negative ones have all bits turned, positive ones the sign.
uint64_t to_key(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return bits ^ ((bits >> 63) ? ~uint64_t{0} : uint64_t{1} << 63);
}
double from_key(uint64_t key) { return std::bit_cast<double>(key ^ ((key >> 63) ? uint64_t{1} << 63 : ~uint64_t{0})); }

}  // namespace

void sort_values(std::vector<double>& values, std::vector<double>& scratch) {
  const size_t n = values.size();
  if (n < kShort) {
    std::sort(values.begin(), values.end());
    return;
  }
  scratch.resize(n);
  std::array<std::array<size_t, 256>, kPasses> counts{};
  for (double& value : values) {
    const uint64_t key = to_key(value);
    value = std::bit_cast<double>(key);
    for (int pass = 0; pass < kPasses; ++pass) ++counts[static_cast<size_t>(pass)][key >> (8 * pass) & 255];
  }
  for (int pass = 0; pass < kPasses; ++pass) {
    std::array<size_t, 256>& position = counts[static_cast<size_t>(pass)];
    if (std::find(position.begin(), position.end(), n) != position.end()) continue;  // every key has the same digit
    size_t sum = 0;
    for (size_t& p : position) sum += std::exchange(p, sum);
    for (const double value : values) scratch[position[std::bit_cast<uint64_t>(value) >> (8 * pass) & 255]++] = value;
    values.swap(scratch);
  }
  for (double& value : values) value = from_key(std::bit_cast<uint64_t>(value));
}

void sort_values(std::vector<double>& values) {
  std::vector<double> scratch;
  sort_values(values, scratch);
}

}  // namespace htfm
