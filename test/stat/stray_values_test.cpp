// Values that are errors are told apart from those of a heavy tail.
#include "htfm/stat/stray_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "htfm/base/random.h"
#include "htfm/stat/estimators.h"

namespace htfm {
namespace {

std::vector<double> stray_values(const std::vector<double>& values) { return find_stray_values(values).values; }

using Quantile = std::function<double(double u)>;

std::vector<double> drawn(const Quantile& quantile, size_t n, Key key) {
  std::vector<double> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = quantile(key.uniform(i));
  return out;
}

TEST(StrayValues, NoLawHasThem) {
  const std::vector<std::pair<std::string, Quantile>> laws = {
      {"normal", normal_quantile},
      {"uniform", [](double u) { return u; }},
      {"exponential", [](double u) { return -std::log1p(-u); }},
      {"lognormal", [](double u) { return std::exp(2 * normal_quantile(u)); }},
      {"Pareto 0.5", [](double u) { return std::pow(1 - u, -2.0); }},
      {"Pareto 1.5", [](double u) { return std::pow(1 - u, -1 / 1.5); }},
      {"Pareto 4", [](double u) { return std::pow(1 - u, -0.25); }},
      {"Cauchy", [](double u) { return std::tan(M_PI * (u - 0.5)); }},
      {"rounded", [](double u) { return std::round(10 * normal_quantile(u)) / 10; }},
      {"counts", [](double u) { return std::floor(-3 * std::log1p(-u)); }}};
  for (const auto& [name, quantile] : laws)
    for (const size_t n : {size_t{500}, size_t{3000}, size_t{30'000}})
      for (uint64_t seed = 0; seed < 15; ++seed)
        EXPECT_TRUE(stray_values(drawn(quantile, n, Key(seed).child(n))).empty()) << name << ", " << n << ", " << seed;
}

// One value in a hundred comes from a law ten times as wide: a heavy tail, not errors.
TEST(StrayValues, AMixtureHasNone) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Key key(seed);
    const Quantile mixture = [&, i = uint64_t{0}](double u) mutable {
      return normal_quantile(u) * (key.child("wide").uniform(i++) < 0.01 ? 10 : 1);
    };
    EXPECT_TRUE(stray_values(drawn(mixture, 10'000, key)).empty()) << seed;
  }
}

TEST(StrayValues, AreFoundAmongStonesOfOrdinarySize) {
  std::vector<double> sizes = drawn([](double u) { return 5.7 + normal_quantile(u); }, 37'758, Key(1));
  sizes[5] = 58.9, sizes[30'000] = 31.8;
  EXPECT_EQ(stray_values(sizes), (std::vector<double>{31.8, 58.9}));
  EXPECT_LT(find_stray_values(sizes).next, 11);
  sizes.resize(499);
  EXPECT_TRUE(stray_values(sizes).empty());
}

TEST(StrayValues, AValueThatOccursOftenIsNone) {
  std::vector<double> values = drawn(normal_quantile, 10'000, Key(3));
  for (size_t i = 0; i < 8; ++i) values[i] = 1e6;
  EXPECT_TRUE(stray_values(values).empty());
}

TEST(StrayValues, BesideAHeavyTailMustLieVeryFarOut) {
  std::vector<double> losses = drawn([](double u) { return std::pow(1 - u, -1 / 3.0); }, 10'000, Key(2));
  losses[7] = 300;
  EXPECT_TRUE(stray_values(losses).empty());
  losses[7] = 1e9;
  EXPECT_EQ(stray_values(losses), std::vector<double>{1e9});
}

}  // namespace
}  // namespace htfm
