// Noise between levels keeps the law of the source's level, and its medians are what the data scale takes them for.
#include "htfm/coupling/level_noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "test/statistics.h"

namespace htfm::test {

namespace {

constexpr int64_t kDraws = 200000;

std::vector<double> uniform_levels() {
  std::vector<double> level(static_cast<size_t>(kDraws));
  fill_uniform(Key(1), 0, kDraws, level.data());
  return level;
}

}  // namespace

TEST(LevelNoise, TheSourcesLevelIsUniform) {
  for (const double deviation : {0.3, 1.0, 3.0})
    for (const double fade : {0.0, 0.3, 2.0}) {
      std::vector<double> level = LevelNoise(deviation, fade).apply(Key(2), uniform_levels());
      EXPECT_LT(kolmogorov_smirnov(level, [](double u) { return u; }), kKolmogorovBound) << deviation << " " << fade;
    }
}

TEST(LevelNoise, WithoutDeviationLevelsStay) {
  const std::vector<double> level = uniform_levels();
  EXPECT_EQ(LevelNoise(0).apply(Key(2), level), level);
  EXPECT_EQ(LevelNoise(0).data_share(0.3), 0.3);
}

// Among rows whose sources lie in a narrow band of levels, half lie beyond the share that data_share names.
TEST(LevelNoise, HalfOfTheRowsLieBeyondTheMedianShare) {
  for (const LevelNoise& noise : {LevelNoise(0.3), LevelNoise(1), LevelNoise(3), LevelNoise(1.5, 0.3)})
    for (const double share : {0.9, 0.5, 0.1, 0.01}) {
      const std::vector<double> data = uniform_levels(), source = noise.apply(Key(2), data);
      const double median = 1 - noise.data_share(share);
      double rows = 0, beyond = 0;
      for (size_t i = 0; i < data.size(); ++i)
        if (std::abs(std::log((1 - source[i]) / share)) < 0.05) ++rows, beyond += data[i] > median;
      ASSERT_GT(rows, 50);
      EXPECT_NEAR(beyond / rows, 0.5, 4 * 0.5 / std::sqrt(rows) + 0.01) << share;
    }
}

// Far out a row stands, in the mean of -log(1 - level), half the variance below its source.
TEST(LevelNoise, FarOutTheLawIsShifted) {
  for (const double deviation : {0.5, 1.5})
    EXPECT_NEAR(std::log(LevelNoise(deviation).data_share(1e-10) / 1e-10), deviation * deviation / 2, 1e-6);
}

// Where the deviation fades, rows far out meet sources of their own level.
TEST(LevelNoise, ADeviationThatFadesLeavesTheTailAlone) {
  const LevelNoise noise(1.5, 0.4);
  EXPECT_NEAR(std::log(noise.data_share(1e-6) / 1e-6), 0, 0.01);
  EXPECT_NEAR(std::log(noise.survival(14)), -14, 0.01);
}

}  // namespace htfm::test
