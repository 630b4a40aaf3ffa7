// Sorting by the bits of numbers gives the order of the numbers, whatever the length.
#include "htfm/stat/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "htfm/base/random.h"

namespace htfm {
namespace {

// Of every sign and exponent, with zeros of both signs.
std::vector<double> any_numbers(size_t n) {
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = i % 11 == 0 ? (i % 2 ? 0.0 : -0.0) : std::bit_cast<double>(Key(1).bits(i));
    if (std::isnan(values[i])) values[i] = i % 2 ? -INFINITY : INFINITY;
  }
  return values;
}

TEST(SortValues, IsTheOrderOfNumbersAtEveryLength) {
  // The longest is sorted in parts, the shortest by comparing.
  for (const size_t n : {size_t{0}, size_t{1}, size_t{511}, size_t{512}, size_t{5000}, (size_t{1} << 20) * 5 / 2 + 3}) {
    std::vector<double> values = any_numbers(n), expected = values;
    std::sort(expected.begin(), expected.end());
    sort_values(values);
    EXPECT_EQ(values, expected) << n;
  }
}

TEST(SortValues, LongArraysNeedLittleScratch) {
  std::vector<double> values = any_numbers(size_t{1} << 22), scratch;
  sort_values(values, scratch);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_LE(scratch.size(), values.size() / 4);
  const auto minus = [](double v) { return v == 0 && std::signbit(v); };
  const auto zeros = std::equal_range(values.begin(), values.end(), 0.0);
  EXPECT_TRUE(std::is_partitioned(zeros.first, zeros.second, minus)) << "-0 before 0, in every part";
}

}  // namespace
}  // namespace htfm
