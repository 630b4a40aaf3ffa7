// The table finds what a search finds.
#include "htfm/stat/place_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/random.h"

namespace htfm {
namespace {

void expect_places(const std::vector<double>& sorted, const std::vector<double>& values) {
  const PlaceTable table(sorted);
  for (const double v : values)
    ASSERT_EQ(table.place(sorted, v), std::lower_bound(sorted.begin(), sorted.end(), v) - sorted.begin()) << v;
}

TEST(PlaceTable, FindsWhatASearchFinds) {
  constexpr double most = std::numeric_limits<double>::max(), infinite = std::numeric_limits<double>::infinity();
  for (const int64_t n : {1, 2, 3, 100, 5000}) {
    std::vector<double> z(static_cast<size_t>(n) + 200),
        odd{-infinite, -most, -1, -0.0, 0.0, 5e-324, 1, most, infinite};
    fill_normal(Key(1), 0, n + 200, z.data());
    std::vector<double> heavy, equal;
    for (const double v : z) heavy.push_back(std::sinh(40 * v)), equal.push_back(std::round(v));
    for (const std::vector<double>& law : {z, heavy, equal}) {
      std::vector<double> sorted(law.begin(), law.begin() + n), values = law;
      std::sort(sorted.begin(), sorted.end());
      values.insert(values.end(), odd.begin(), odd.end());
      expect_places(sorted, values);
    }
  }
  expect_places({}, {0.0, 1.0});
  expect_places({-0.0, 0.0, 0.0}, {-0.0, 0.0, 1.0});
  expect_places(std::vector<double>(300, 2.5), {2.0, 2.5, 3.0});
}

}  // namespace
}  // namespace htfm
