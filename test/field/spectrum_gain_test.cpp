// Gains of wave numbers: each wave is multiplied by its own, the mean stays, and nothing else changes.
#include "htfm/field/spectrum_gain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "htfm/base/error.h"
#include "htfm/base/random.h"

namespace htfm {
namespace {

// Half waves down and across a field, which is what a mirrored field is made of.
std::vector<double> wave(int64_t height, int64_t width, int64_t down, int64_t across) {
  std::vector<double> out;
  for (int64_t j = 0; j < height; ++j)
    for (int64_t i = 0; i < width; ++i)
      out.push_back(std::cos(std::numbers::pi * (static_cast<double>(j) + 0.5) * static_cast<double>(down) /
                             static_cast<double>(height)) *
                    std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(across) /
                             static_cast<double>(width)));
  return out;
}

TEST(SpectrumGain, MultipliesEveryWaveByItsOwn) {
  const int64_t height = 12, width = 20;
  const SpectrumGain gain(height, width, {1, 2, 6}, {0.5, 1, 3});
  for (int64_t down = 0; down < height; ++down)
    for (int64_t across = 0; across < width; ++across) {
      const std::vector<double> before = wave(height, width, down, across);
      std::vector<double> after = before;
      gain.apply(after);
      // Waves across the shorter side: half waves over their own side.
      const double k = static_cast<double>(height) / 2 *
                       std::hypot(static_cast<double>(down) / height, static_cast<double>(across) / width);
      const double expected = k == 0 ? 1 : gain.at(k);
      for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(after[i], expected * before[i], 1e-12) << down << across;
    }
}

TEST(SpectrumGain, IsLinearInLogarithmsBetweenKnots) {
  const SpectrumGain gain(8, 8, {1, 3}, {1, 4});
  EXPECT_DOUBLE_EQ(gain.at(0.5), 1);
  EXPECT_DOUBLE_EQ(gain.at(2), 2);
  EXPECT_DOUBLE_EQ(gain.at(4), 4);
}

TEST(SpectrumGain, KeepsTheMeanAndConstantFields) {
  const SpectrumGain gain(6, 6, {1, 3}, {0.3, 2.5});
  const Key key(5);
  std::vector<double> x(36);
  double before = 0, after = 0;
  for (size_t k = 0; k < x.size(); ++k) before += x[k] = key.uniform(k);
  gain.apply(x);
  for (const double v : x) after += v;
  EXPECT_NEAR(after, before, 1e-12);
  std::vector<double> flat(36, -0.1);
  gain.apply(flat);
  for (const double v : flat) EXPECT_EQ(v, -0.1);
  x[3] = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> kept = x;
  gain.apply(kept);
  for (size_t k = 0; k < x.size(); ++k) EXPECT_TRUE(kept[k] == x[k] || k == 3);
}

TEST(SpectrumGain, ComesBackFromItsNumbersOrIsRefused) {
  const SpectrumGain gain(10, 6, {1, 2}, {0.7, 1.4});
  std::vector<double> x(60), y(60);
  for (size_t k = 0; k < x.size(); ++k) y[k] = x[k] = Key(6).uniform(k);
  gain.apply(x);
  SpectrumGain::from_numbers(gain.numbers()).apply(y);
  EXPECT_EQ(x, y);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<std::vector<double>>> bad = {
      {},
      {{8, 8}, {1}, {}},
      {{8, 8.5}, {1}, {1}},
      {{8, 1e9}, {1}, {1}},
      {{8, 8}, {2, 1}, {1, 1}},
      {{8, 8}, {0}, {1}},
      {{8, 8}, {1}, {0}},
      {{8, 8}, {1}, {nan}},
  };
  for (const auto& numbers : bad) EXPECT_THROW(SpectrumGain::from_numbers(numbers), InputError);
  std::vector<double> other(50);
  for (size_t k = 0; k < other.size(); ++k) other[k] = Key(7).uniform(k);
  EXPECT_THROW(gain.apply(other), InputError);  // a field of another shape
}

}  // namespace
}  // namespace htfm
