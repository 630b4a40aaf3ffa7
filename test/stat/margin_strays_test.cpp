// Values far beyond all others are a part of a column's law of their own: the law of the others is as if they were not
// there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/stat/estimators.h"
#include "htfm/stat/margin.h"
#include "htfm/stat/margin_rounds.h"

namespace htfm {
namespace {

using Values = std::vector<double>;

constexpr size_t kRows = 20'000;

// Sizes of stones, 5.7 with deviation 1, of which the outermost are those given.
Values stones(const Values& strays, size_t n = kRows) {
  Values out(n);
  fill_uniform(Key(1), 0, static_cast<int64_t>(n), out.data());
  for (double& v : out) v = 5.7 + normal_quantile(v);
  std::copy(strays.begin(), strays.end(), out.begin());
  std::sort(out.begin(), out.end());
  return out;
}

Values without(const Values& sorted, size_t below, size_t above) {
  return {sorted.begin() + static_cast<int64_t>(below), sorted.end() - static_cast<int64_t>(above)};
}

TEST(MarginStrays, TheTailOfTheOthersIsAsIfTheyWereNotThere) {
  const Values x = stones({31.8, 58.9});
  const Margin m = Margin::fit(x, {.strays_above = 2}), others = Margin::fit(without(x, 0, 2));
  EXPECT_EQ(m.above().shape, others.above().shape);
  EXPECT_EQ(m.above().scale, others.above().scale);
  EXPECT_EQ(m.strays(true).count(), 2U);
  const double share = 2.0 / kRows;
  for (const double p : {0.49, 0.2, 0.05, 1e-2, 1e-3, 1e-4, 1e-6}) {
    EXPECT_NEAR(m.value({share + p * (1 - share), true}), others.value({p, true}), 1e-9) << p;
    EXPECT_NEAR(m.value({p * (1 - share), false}), others.value({p, false}), 1e-9) << p;
  }
}

// The share beyond a place in the gap is that of the strays and what the tail of the others has there; samples lie near
// a stray, within a tenth of its distance from the middle.
TEST(MarginStrays, HaveTheirShareAndNobodyIsInTheGap) {
  const Values x = stones({31.8, 58.9});
  const Margin m = Margin::fit(x, {.strays_above = 2});
  const double next = x[kRows - 3], middle = 0.5 * (next + 31.8), centre = x[kRows / 2];
  const Margin others = Margin::fit(without(x, 0, 2));
  EXPECT_NEAR(m.place(middle, 0.5).p, 2.0 / kRows, others.place(middle, 0.5).p + 1e-15);
  EXPECT_LT(others.place(middle, 0.5).p, 1e-5 / kRows);
  constexpr int kPlaces = 2'000'000;
  int beyond = 0, gap = 0;
  for (int i = 0; i < kPlaces; ++i) {
    const double v = m.value(TailPlace::of_level((i + 0.5) / kPlaces));
    beyond += v > middle, gap += v > 0.6 * next + 0.4 * 31.8 && v < 25;
    if (v > middle) {
      EXPECT_LT(std::min(std::abs(std::log((v - centre) / (31.8 - centre))),
                         std::abs(std::log((v - centre) / (58.9 - centre)))),
                0.1 + 1e-3)  // the centre of the fit is one order statistic away
          << v;
    }
  }
  EXPECT_EQ(gap, 0);
  EXPECT_NEAR(beyond, 2.0 * kPlaces / kRows, 1);
}

TEST(MarginStrays, PlacesAndValuesAreInverseOnBothSides) {
  const Values x = stones({-300, -40, -39, 31.8, 58.9});
  const Margin m = Margin::fit(x, {.strays_below = 3, .strays_above = 2}), back = Margin::from_numbers(m.numbers());
  EXPECT_EQ(back.numbers(), m.numbers());
  EXPECT_EQ(m.numbers().size() % 2, 1U) << "those without strays are even in number";
  for (const double v : x) EXPECT_NEAR(m.value(m.place(v, 0.5)), v, 1e-9 * std::abs(v));
  double last = -std::numeric_limits<double>::infinity();
  for (int i = 1; i < 400'000; ++i) {
    const TailPlace place = TailPlace::of_level(i / 400'000.0);
    const double v = m.value(place);
    ASSERT_GE(v, last);
    EXPECT_EQ(back.value(place), v);
    const TailPlace found = m.place(v, 0.5);
    // Parts lie apart, and their triangles begin with density 0: 1e-3 of a part.
    if (v != last) {
      ASSERT_NEAR(found.level(), place.level(), 1e-3 / kRows) << v;
    }
    last = v;
  }
}

TEST(MarginStrays, TheMeanBeyondIsTheIntegralOfValues) {
  const Values x = stones({-40, 31.8, 58.9});
  const Margin m = Margin::fit(x, {.strays_below = 1, .strays_above = 2});
  for (const bool above : {true, false})
    for (const double p : {0.5, 0.1, 1e-2, 3e-4, 7e-5, 2e-5}) {
      double sum = 0;
      constexpr int kSteps = 400'000;
      for (int i = 0; i < kSteps; ++i) sum += m.value({p * (i + 0.5) / kSteps, above}) / kSteps;
      EXPECT_NEAR(m.mean_beyond(p, above), sum, 2e-4 * std::abs(sum)) << above << " " << p;
    }
}

// Zeros that stand for something else: drawn as zeros, below sizes that have a bound there.
TEST(MarginStrays, AValueThatOccursSeveralTimesIsDrawnAsItself) {
  const Values x = stones({0, 0, 0});
  const Margin m = Margin::fit(x, {.tail_below = false, .least = -0.005, .strays_below = 3, .step = 0.01});
  for (int i = 0; i < 300; ++i) EXPECT_EQ(m.value({3.0 / kRows * (i + 0.5) / 300, false}), 0);
  double low = 1, high = 0;
  for (int i = 0; i < 300; ++i) {
    const double p = m.place(0, (i + 0.5) / 300).level();
    low = std::min(low, p), high = std::max(high, p);
  }
  EXPECT_NEAR(high - low, 3.0 / kRows, 0.01 * 3.0 / kRows);
  // One of them, spread over its cell, stays within the bound.
  const Values one = stones({0.003});
  const Margin alone = Margin::fit(one, {.tail_below = false, .least = -0.005, .strays_below = 1, .step = 0.01});
  for (int i = 0; i < 100; ++i) EXPECT_GE(alone.value({1.0 / kRows * (i + 0.5) / 100, false}), -0.005 - 1e-9);
}

TEST(MarginStrays, RoundsKeepThemApart) {
  const Values x = stones({31.8, 58.9}, 4000);
  const Margin m = Margin::fit(x, {.strays_above = 2}), again = m.redrawn(x, m.below(), m.above());
  for (const double p : {0.4, 0.1, 0.01, 1e-3, 4e-4, 1e-4})
    for (const bool above : {true, false}) EXPECT_NEAR(again.value({p, above}), m.value({p, above}), 1e-9) << p;
  const RowRounds rows{.rows = 4000, .rounds = 40, .key = Key(2)};
  const MarginRounds rounds(m, x, rows, Key(3));
  double strays = 0;
  for (int64_t b = 0; b < rows.rounds; ++b) {
    const Margin law = rounds.law(b, rows.counts(b));
    strays += 4000 * law.strays(true).share() / static_cast<double>(rows.rounds);
    // A tail through both strays has 20 there and beyond; that of the others hardly reaches 12.
    EXPECT_LT(law.value({law.strays(true).share() + 2e-4, true}), 12);
  }
  EXPECT_NEAR(strays, 2, 4 * std::sqrt(2.0 / 40));
}

TEST(MarginStrays, NumbersThatAreNoLawAreRefused) {
  const Values numbers = Margin::fit(stones({31.8, 58.9}), {.strays_above = 2}).numbers();
  const size_t n = numbers.size();
  // From the end: how many numbers, two widths, two distances, how many strays, the centre, their share; before them
  // the empty side.
  for (const auto& [place, value] : {std::pair<size_t, double>{1, 1e9},
                                     {1, 7},
                                     {1, -2},
                                     {2, -1},
                                     {2, 5},
                                     {4, 1},
                                     {4, 1e300},
                                     {6, 3},
                                     {6, 1e300},
                                     {6, 0.5},
                                     {7, std::nan("")},
                                     {8, 0.7},
                                     {8, 0},
                                     {9, 1},
                                     {11, 0.1}}) {
    Values bad = numbers;
    bad[n - place] = value;
    EXPECT_THROW(Margin::from_numbers(bad), InputError) << place << " " << value;
  }
  EXPECT_NO_THROW(Margin::from_numbers(numbers));
}

}  // namespace
}  // namespace htfm
