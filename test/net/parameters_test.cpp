// The flat parameter buffer: places, initial values and their independence of one another.
#include "htfm/net/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace htfm {
namespace {

ParameterLayout two_layers() {
  ParameterLayout layout;
  Linear::add(layout, "first", 3, 50);
  layout.add("norm.weight", {50}, false, 0, 1);
  Linear::add(layout, "second", 50, 7, false);
  Linear::add(layout, "zero", 7, 4, true, true);
  return layout;
}

const ParameterInfo& find(const ParameterLayout& layout, const std::string& name) {
  return *std::ranges::find(layout.list(), name, &ParameterInfo::name);
}

TEST(Parameters, StandOnCacheLinesWithoutOverlap) {
  const ParameterLayout layout = two_layers();
  int64_t end = 0, count = 0;
  for (const ParameterInfo& p : layout.list()) {
    EXPECT_EQ(p.offset % 16, 0) << p.name;
    EXPECT_GE(p.offset, end) << p.name;
    end = p.offset + p.size, count += p.size;
  }
  EXPECT_LE(end, layout.size());
  EXPECT_EQ(layout.size() % 16, 0);
  EXPECT_EQ(layout.count(), count);
  EXPECT_EQ(count, 3 * 50 + 50 + 50 + 50 * 7 + 7 + 7 * 4 + 4);
}

TEST(Parameters, LinearLayersHaveTheirShapesAndDecay) {
  ParameterLayout layout;
  const Linear layer = Linear::add(layout, "a", 3, 50), plain = Linear::add(layout, "b", 50, 7, false);
  EXPECT_EQ(layer.in, 3);
  EXPECT_EQ(layer.out, 50);
  EXPECT_EQ(layer.weight, find(layout, "a.weight").offset);
  EXPECT_EQ(plain.bias, find(layout, "b.bias").offset);
  EXPECT_EQ(find(layout, "a.weight").shape, (std::vector<int64_t>{50, 3}));
  EXPECT_EQ(find(layout, "b.bias").shape, (std::vector<int64_t>{7}));
  EXPECT_TRUE(find(layout, "a.weight").decay);
  EXPECT_FALSE(find(layout, "a.bias").decay);
  EXPECT_FALSE(find(layout, "b.weight").decay);
}

TEST(Parameters, InitialValuesFillTheirIntervalAndGapsAreZero) {
  const ParameterLayout layout = two_layers();
  std::vector<float> buffer(static_cast<size_t>(layout.size()), NAN);
  layout.initialise(Key(3), buffer.data());
  std::vector<bool> owned(buffer.size(), false);
  for (const ParameterInfo& p : layout.list()) {
    double low = 1e9, high = -1e9, sum = 0;
    for (int64_t i = 0; i < p.size; ++i) {
      const double v = buffer[p.offset + i];
      low = std::min(low, v), high = std::max(high, v), sum += v;
      owned[p.offset + i] = true;
    }
    EXPECT_GE(low, p.centre - p.bound) << p.name;
    EXPECT_LE(high, p.centre + p.bound) << p.name;
    if (p.bound == 0 || p.size < 50) continue;
    // The mean of n uniform numbers has standard error bound / sqrt(3 n); the largest of them misses the bound by 20 %
    // of the interval with probability 0.9^n.
    EXPECT_NEAR(sum / static_cast<double>(p.size), p.centre, 5 * p.bound / std::sqrt(3.0 * static_cast<double>(p.size)))
        << p.name;
    EXPECT_GT(high, p.centre + 0.8 * p.bound) << p.name;
    EXPECT_LT(low, p.centre - 0.8 * p.bound) << p.name;
  }
  EXPECT_NEAR(find(layout, "first.weight").bound, 1 / std::sqrt(3.0), 1e-15);
  EXPECT_NEAR(find(layout, "second.bias").bound, 1 / std::sqrt(50.0), 1e-15);
  const auto all = [&](const std::string& name, float value) {
    const ParameterInfo& p = find(layout, name);
    return std::all_of(buffer.begin() + p.offset, buffer.begin() + p.offset + p.size,
                       [&](float v) { return v == value; });
  };
  EXPECT_TRUE(all("norm.weight", 1) && all("zero.weight", 0) && all("zero.bias", 0));
  for (size_t i = 0; i < buffer.size(); ++i) ASSERT_TRUE(owned[i] || buffer[i] == 0) << i;
}

TEST(Parameters, InitialValuesDependOnKeyAndNameOnly) {
  const ParameterLayout layout = two_layers();
  ParameterLayout other;  // the same layers in another order
  Linear::add(other, "second", 50, 7);
  Linear::add(other, "first", 3, 50);
  std::vector<float> a(static_cast<size_t>(layout.size())), b(a.size()), c(a.size()),
      d(static_cast<size_t>(other.size()));
  layout.initialise(Key(3), a.data());
  layout.initialise(Key(3), b.data());
  layout.initialise(Key(4), c.data());
  other.initialise(Key(3), d.data());
  EXPECT_EQ(a, b);
  const ParameterInfo &p = find(layout, "first.weight"), &q = find(other, "first.weight");
  EXPECT_TRUE(std::equal(a.begin() + p.offset, a.begin() + p.offset + p.size, d.begin() + q.offset));
  EXPECT_FALSE(std::equal(a.begin() + p.offset, a.begin() + p.offset + p.size, c.begin() + p.offset));
  EXPECT_NE(a[p.offset], a[find(layout, "second.weight").offset]);
}

}  // namespace
}  // namespace htfm
