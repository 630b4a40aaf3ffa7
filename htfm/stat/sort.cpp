#include "htfm/stat/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

namespace htfm {
namespace {

constexpr size_t kShort = 512;             // below this, comparing is faster than counting
constexpr size_t kLong = size_t{1} << 20;  // above this, halves are sorted one after the other: scratch stays small
constexpr int kPasses = 8;

/// Orders like the numbers: negative ones have all bits turned, positive ones the sign.
uint64_t to_key(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return bits ^ ((bits >> 63) ? ~uint64_t{0} : uint64_t{1} << 63);
}
double from_key(uint64_t key) { return std::bit_cast<double>(key ^ ((key >> 63) ? uint64_t{1} << 63 : ~uint64_t{0})); }

uint64_t key_in(double value) { return std::bit_cast<uint64_t>(value); }

/// Sorts keys, which lie in the places of the numbers; scratch has room for kLong of them, or for all.
void sort_keys(std::span<double> keys, std::span<double> scratch) {
  const size_t n = keys.size();
  if (n > kLong) {
    const size_t half = n / 2;
    std::nth_element(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(half), keys.end(),
                     [](double a, double b) { return key_in(a) < key_in(b); });
    sort_keys(keys.first(half), scratch);
    sort_keys(keys.subspan(half), scratch);
    return;
  }
  std::array<std::array<size_t, 256>, kPasses> counts{};
  for (const double key : keys)
    for (int pass = 0; pass < kPasses; ++pass) ++counts[static_cast<size_t>(pass)][key_in(key) >> (8 * pass) & 255];
  std::span<double> from = keys, to = scratch.first(n);
  for (int pass = 0; pass < kPasses; ++pass) {
    std::array<size_t, 256>& position = counts[static_cast<size_t>(pass)];
    if (std::find(position.begin(), position.end(), n) != position.end()) continue;  // every key has the same digit
    size_t sum = 0;
    for (size_t& p : position) sum += std::exchange(p, sum);
    for (const double key : from) to[position[key_in(key) >> (8 * pass) & 255]++] = key;
    std::swap(from, to);
  }
  if (from.data() != keys.data()) std::copy(from.begin(), from.end(), keys.begin());
}

}  // namespace

void sort_values(std::vector<double>& values, std::vector<double>& scratch) {
  if (values.size() < kShort) {
    std::sort(values.begin(), values.end());
    return;
  }
  for (double& value : values) value = std::bit_cast<double>(to_key(value));
  scratch.resize(std::min(values.size(), kLong));
  sort_keys(values, scratch);
  for (double& value : values) value = from_key(std::bit_cast<uint64_t>(value));
}

void sort_values(std::vector<double>& values) {
  std::vector<double> scratch;
  sort_values(values, scratch);
}

}  // namespace htfm
