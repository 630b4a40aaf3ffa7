// A table whose rows repeat each other: its columns' tails are those of as many rows as say something.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "htfm/data/table_transform.h"

namespace htfm {
namespace {

TEST(RepeatedRows, LeaveBothTails) {
  constexpr int64_t kPersons = 400, kYears = 5;
  at::Tensor rows = at::empty({kPersons * kYears, 2}, at::kDouble);
  double* x = rows.mutable_data_ptr<double>();
  for (int64_t i = 0; i < kPersons * kYears; ++i) {
    const double u = Key(1).uniform(static_cast<uint64_t>(i / kYears));
    x[2 * i] = std::round(100 * (u < 0.5 ? std::log(2 * u) : -std::log(2 - 2 * u))) / 100;             // of a person
    x[2 * i + 1] = std::round(100 * std::log(Key(2).uniform(static_cast<uint64_t>(i)) + 1e-3)) / 100;  // of a year
  }
  const TableTransform t = TableTransform::fit("scores", rows, Key(3));
  const Margin& margin = t.margin(0);
  ASSERT_TRUE(margin.below().there() && margin.above().there());
  // Exponential tails: 4 standard errors of the shape of the clumps beyond both thresholds.
  const auto clumps = static_cast<double>(margin.below().exceedances + margin.above().exceedances) / kYears;
  for (const MarginTail& tail : {margin.below(), margin.above()}) EXPECT_NEAR(tail.shape, 0, 4 / std::sqrt(clumps));
  // Values that do not repeat are taken for as many as they are.
  std::vector<double> alone, repeated;
  for (int64_t i = 0; i < kPersons * kYears; ++i) repeated.push_back(x[2 * i]), alone.push_back(x[2 * i + 1]);
  std::sort(alone.begin(), alone.end()), std::sort(repeated.begin(), repeated.end());
  const MarginOptions first = margin_options(t.list()[0], repeated), second = margin_options(t.list()[1], alone);
  EXPECT_NEAR(first.clumps_above, kYears, 0.4 * kYears);
  EXPECT_NEAR(first.clumps_below, kYears, 0.4 * kYears);
  EXPECT_EQ(second.clumps_below, 1);
}

}  // namespace
}  // namespace htfm
