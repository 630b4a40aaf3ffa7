#include "htfm/report/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/report/style.h"
#include "htfm/report/text.h"

namespace htfm::report {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Ranges of all sizes and places, fixed.
std::vector<Range> many_ranges(Scale scale) {
  const Key key(17);
  std::vector<Range> ranges;
  for (uint64_t i = 0; i < 3000; ++i) {
    const double size = std::pow(10.0, 24 * key.uniform(3 * i) - 12);
    if (scale == Scale::log)
      ranges.push_back({size, size * std::pow(10.0, 0.01 + 12 * key.uniform(3 * i + 1))});
    else {
      const double lo = size * (2 * key.uniform(3 * i + 1) - 1);
      ranges.push_back({lo, lo + size * std::pow(10.0, 4 * key.uniform(3 * i + 2) - 3)});
    }
  }
  return ranges;
}

TEST(Ticks, LinearTicksAreRoundEvenlySpacedAndInside) {
  for (const Range& range : many_ranges(Scale::linear)) {
    for (const int target : {2, 5, 8}) {
      const std::vector<Tick> ticks = nice_ticks(Scale::linear, range, target);
      const double length = range.hi - range.lo, step = ticks[1].value - ticks[0].value;
      ASSERT_GE(ticks.size(), 2u);
      ASSERT_LE(ticks.size(), static_cast<size_t>(2 * target + 2));
      // A step is 1, 2 or 5 times a power of ten; the subtraction loses digits where the range is far from zero.
      const double power = std::pow(10.0, std::floor(std::log10(step) + 1e-6)), multiple = step / power;
      const double slack = 1e-6 + 1e-15 * std::abs(range.lo) / step;
      ASSERT_TRUE(std::abs(multiple - 1) < slack || std::abs(multiple - 2) < slack || std::abs(multiple - 5) < slack)
          << step;
      for (size_t i = 0; i < ticks.size(); ++i) {
        ASSERT_FALSE(ticks[i].label.empty());
        ASSERT_GE(ticks[i].value, range.lo - 1e-6 * length);
        ASSERT_LE(ticks[i].value, range.hi + 1e-6 * length);
        if (i > 0) {
          ASSERT_NEAR(ticks[i].value - ticks[i - 1].value, step, 1e-6 * step + 1e-15 * std::abs(range.lo));
        }
        if (i > 0) {
          ASSERT_NE(ticks[i].label, ticks[i - 1].label) << "two ticks look the same";
        }
        ASSERT_TRUE(ticks[i].value == 0 || std::abs(ticks[i].value) > 0.5 * step) << "zero must be exact";
      }
    }
  }
}

TEST(Ticks, ValuesAreTheNearestDoubles) {
  const std::vector<Tick> ticks = nice_ticks(Scale::linear, {0, 1}, 10);
  ASSERT_EQ(ticks.size(), 11u);
  const double expected[] = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};
  for (size_t i = 0; i < ticks.size(); ++i) EXPECT_EQ(ticks[i].value, expected[i]);
  EXPECT_EQ(ticks[3].label, "0.3");
}

TEST(Ticks, LogTicksAscendInsideAndLabelPowersOfTen) {
  for (const Range& range : many_ranges(Scale::log)) {
    const std::vector<Tick> ticks = nice_ticks(Scale::log, range, 5);
    size_t labelled = 0;
    for (size_t i = 0; i < ticks.size(); ++i) {
      ASSERT_GE(ticks[i].value, range.lo * (1 - 1e-6));
      ASSERT_LE(ticks[i].value, range.hi * (1 + 1e-6));
      if (i > 0) {
        ASSERT_GT(ticks[i].value, ticks[i - 1].value);
      }
      if (ticks[i].label.empty()) continue;
      ++labelled;
      const double power = std::log10(ticks[i].value);
      if (range.hi > 1e3 * range.lo) {
        ASSERT_NEAR(power, std::round(power), 1e-9);
      }
    }
    ASSERT_GE(labelled, range.hi > 1.2 * range.lo ? 2u : 1u);
    ASSERT_LE(labelled, 12u);
  }
}

TEST(Ticks, RefuseRangesThatCannotBeDrawn) {
  EXPECT_THROW(nice_ticks(Scale::linear, {1, 1}, 5), InputError);
  EXPECT_THROW(nice_ticks(Scale::linear, {2, 1}, 5), InputError);
  EXPECT_THROW(nice_ticks(Scale::linear, {0, kInfinite}, 5), InputError);
  EXPECT_THROW(nice_ticks(Scale::linear, {kNoNumber, 1}, 5), InputError);
  EXPECT_THROW(nice_ticks(Scale::linear, {-1.7e308, 1.7e308}, 5), InputError);
  EXPECT_THROW(nice_ticks(Scale::linear, {1e-320, 2e-320}, 5), InputError);
  EXPECT_THROW(nice_ticks(Scale::log, {0, 1}, 5), InputError);
  EXPECT_THROW(nice_ticks(Scale::log, {-1, 1}, 5), InputError);
}

TEST(Range, OfAnyDataCanBeDrawn) {
  const double extremes[] = {0,       1,        -1,  1e-320,     1e-300,    1e300,      -1e300,
                             1.7e308, -1.7e308, 1e9, 1e9 + 1e-6, kInfinite, -kInfinite, kNoNumber};
  for (const Scale scale : {Scale::linear, Scale::log}) {
    for (const double a : extremes) {
      for (const double b : extremes) {
        Extent extent;
        extent.add(std::vector{a, b}, scale);
        const Range range = drawn_range(extent, scale);
        ASSERT_NO_THROW(nice_ticks(scale, range, 5)) << a << " " << b;
        for (const double value : {a, b}) {
          const Axis axis{"", scale, range, {}};
          // Beyond 1e300 values are drawn outside the axis, not lost in an overflow.
          if (drawable(value, scale) && std::abs(value) <= 1e300 && std::abs(value) >= 1e-300) {
            ASSERT_NEAR(axis.place(value), 0.5, 0.5 + 1e-9);
          }
        }
      }
    }
  }
  EXPECT_LT(drawn_range({}, Scale::linear).lo, drawn_range({}, Scale::linear).hi);
}

TEST(Range, ConstantDataStandInTheMiddle) {
  for (const double value : {0.0, 3.0, -250.0, 1e-8}) {
    Extent extent;
    extent.add(value, Scale::linear);
    const Axis axis{"", Scale::linear, drawn_range(extent, Scale::linear), {}};
    EXPECT_NEAR(axis.place(value), 0.5, 1e-9) << value;
  }
}

TEST(Axis, LogScaleMapsRatiosToDistances) {
  const Axis axis{"", Scale::log, {1e-3, 1e5}, {}};
  EXPECT_NEAR(axis.place(1e-3), 0, 1e-12);
  EXPECT_NEAR(axis.place(1e5), 1, 1e-12);
  for (const double r : {0.002, 0.7, 30.0}) EXPECT_NEAR(axis.place(10 * r) - axis.place(r), 1.0 / 8, 1e-12);
}

TEST(Axis, HorizontalLabelsDoNotCollide) {
  for (const Scale scale : {Scale::linear, Scale::log}) {
    for (const Range& range : many_ranges(scale)) {
      constexpr double kLength = 300;
      const Axis axis = make_axis({.scale = scale, .range = range}, {}, kLength, true);
      // Two labels are the least an axis can have: they may be wider than it.
      size_t labelled = 0;
      double end = -kInfinite, overlap = 0;
      for (const Tick& tick : axis.ticks) {
        if (tick.label.empty()) continue;
        ++labelled;
        const double middle = axis.place(tick.value) * kLength, half = text_width(tick.label, kTickSize) / 2;
        overlap = std::max(overlap, end - (middle - half));
        end = middle + half;
      }
      if (labelled > 4) {
        ASSERT_LE(overlap, 0) << range.lo << " " << range.hi;
      }
    }
  }
}

TEST(Quantile, InterpolatesFiniteValuesOnly) {
  std::vector<double> values{5, kNoNumber, 1, 3, kInfinite, 2, 4};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 1), 5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.125), 1.5);
  std::vector<double> none{kNoNumber};
  EXPECT_TRUE(std::isnan(quantile(none, 0.5)));
}

}  // namespace
}  // namespace htfm::report
