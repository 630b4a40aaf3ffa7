// Whether maxima end: their own law at the top decides, not the larger share below it that another law rules.
#include "htfm/stat/tail_of_maxima.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "htfm/base/random.h"

namespace htfm {
namespace {

constexpr int64_t kCount = 20'000;

double excess(double shape, double scale, double u) { return scale * (std::pow(u, -shape) - 1) / shape; }

template <class Law>
std::vector<double> maxima(uint64_t seed, const Law& law) {
  std::vector<double> out;
  for (int64_t i = 0; i < kCount; ++i)
    out.push_back(law(Key(seed).child("part").uniform(static_cast<uint64_t>(i)),
                      Key(seed).child("value").uniform(static_cast<uint64_t>(i))));
  std::sort(out.begin(), out.end());
  return out;
}

TEST(TailOfMaxima, HeavyMaximaBelowDoNotHideAnEnd) {
  constexpr double kEnd = 150, kShape = -0.4;
  for (const uint64_t seed : {1, 2, 3}) {
    // 97 % have a power law of index 1, cut at 30; the others lie above, up to an end.
    const std::vector<double> x = maxima(seed, [&](double part, double u) {
      return part < 0.97 ? 1 / (1 - u * (1 - 1.0 / 30)) : 30 + excess(kShape, -kShape * (kEnd - 30), u);
    });
    const TailOfMaxima tail = tail_of_maxima(x);
    EXPECT_GT(fit_gpd(x, kCount / 10).shape, 0.3) << "the tenth alone looks heavy";
    EXPECT_LE(tail.fit.exceedances, kCount * 3 / 100);
    ASSERT_TRUE(tail.end.has_value());
    EXPECT_NEAR(*tail.end, kEnd, 15);
  }
}

TEST(TailOfMaxima, OneLawIsFittedToTheWholeTenth) {
  int64_t whole = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const TailOfMaxima tail = tail_of_maxima(maxima(seed, [](double, double u) { return excess(0.3, 1, u); }));
    EXPECT_FALSE(tail.end.has_value());
    whole += tail.fit.exceedances == kCount / 10;
  }
  EXPECT_GE(whole, 15) << "a test of level 0.05 that rejects more than 5 of 20: probability 0.0003";
}

TEST(TailOfMaxima, ValuesThatPileUpEndAtTheLargest) {
  const std::vector<double> x = maxima(1, [](double, double u) { return 1 - std::pow(u, 2); });  // shape -2
  EXPECT_EQ(tail_of_maxima(x).end, x.back());
}

TEST(TailOfMaxima, SaysNothingOfTooFewOrEqualOnes) {
  EXPECT_TRUE(std::isnan(tail_of_maxima(std::vector<double>(150, 1.0)).fit.shape));
  EXPECT_TRUE(std::isnan(tail_of_maxima(std::vector<double>(5000, 1.0)).fit.shape));
  EXPECT_TRUE(std::isnan(tail_of_maxima({}).fit.shape));
}

}  // namespace
}  // namespace htfm
