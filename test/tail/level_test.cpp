// Tails brought to another index: the map is its own way back, smooth at the threshold, and gives the index that is
// wanted.
#include <gtest/gtest.h>

#include <algorithm>

#include "htfm/stat/threshold.h"
#include "htfm/tail/tail_level.h"
#include "test/tail/support.h"

namespace htfm {
namespace {

using test::sorted_gpd;

TEST(TailLevel, InvertsItselfAndIsSmooth) {
  for (const double shape : {-0.5, -0.1, 0.0, 1e-12, 0.3, 1.2}) {
    const TailLevel level{.from = 2, .scale = 0.5, .shape = shape, .target = 0.6, .exceedances = 100};
    for (const double y : {-3.0, 0.0, 1.9, 2.0, 2.01, 2.2, 2.7, 2.9}) {
      EXPECT_NEAR(level.invert(level.apply(y)), y, 1e-9) << shape << " " << y;
      EXPECT_LT(level.apply(y), level.apply(y + 1e-3)) << shape << " " << y;
    }
    EXPECT_EQ(level.apply(1.5), 1.5);
    EXPECT_NEAR((level.apply(2 + 1e-5) - 2) / 1e-5, 1, 1e-3) << shape;
    const TailLevel back = TailLevel::from_numbers(level.numbers().data());
    EXPECT_EQ(back.apply(2.7), level.apply(2.7));
  }
  // Nothing lies beyond the end of a bounded tail, however far the model goes.
  const TailLevel bounded{.from = 2, .scale = 0.5, .shape = -0.5, .target = 0.6, .exceedances = 100};
  EXPECT_LE(bounded.invert(1e30), 3);
  EXPECT_GT(bounded.invert(1e30), 2.999);
  EXPECT_TRUE(std::isfinite(bounded.apply(7)));
}

TEST(TailLevel, GivesTheIndexThatIsWanted) {
  for (const double shape : {-0.3, 0.0, 1.0}) {
    std::vector<double> x = sorted_gpd(4000, shape, Key(1));
    const TailLevel level = TailLevel::find(x, 2.5);
    ASSERT_TRUE(level.levels()) << shape;
    for (double& v : x) v = level.apply(v);
    ASSERT_TRUE(std::is_sorted(x.begin(), x.end()));
    const GpdFit fit = fit_gpd(x, level.exceedances);
    EXPECT_NEAR(fit.shape, 0.4, 4 * 1.4 / std::sqrt(static_cast<double>(level.exceedances)))
        << "within 4 standard errors";
  }
}

TEST(TailLevel, LeavesASideOfThatIndexAlone) {
  constexpr int draws = 200;
  int levelled = 0;
  for (int i = 0; i < draws; ++i)
    levelled += TailLevel::find(sorted_gpd(1500, 0.4, Key(2).child(static_cast<uint64_t>(i))), 2.5).levels();
  // One in a hundred, and the test is approximate: 4 standard errors above two in a hundred.
  EXPECT_LE(levelled, 12);
  EXPECT_FALSE(TailLevel::find(std::vector<double>{0.1, 0.2, 0.3}, 2.5).levels()) << "too few to tell";
}

}  // namespace
}  // namespace htfm
