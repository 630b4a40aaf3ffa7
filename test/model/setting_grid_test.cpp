// Grids of settings: every combination, in order, with a name for each.
#include "htfm/model/setting_grid.h"

#include <gtest/gtest.h>

#include "htfm/base/error.h"

namespace htfm {
namespace {

TEST(SettingGrid, HasEveryCombinationOfTheKeysThatVary) {
  const std::vector<GridPoint> grid = setting_grid({"clock.alpha=1.5,1.7", "train.batch=64", "net.width=16,32,64"});
  ASSERT_EQ(grid.size(), 6u);
  EXPECT_EQ(grid.front().name, "clock.alpha=1.5,net.width=16");
  EXPECT_EQ(grid.back().settings, (std::vector<std::string>{"clock.alpha=1.7", "train.batch=64", "net.width=64"}));
}

TEST(SettingGrid, OfNothingThatVariesIsOneRun) {
  EXPECT_EQ(setting_grid({"train.batch=64"}).at(0).name, "run");
  EXPECT_EQ(setting_grid({"data.path=a/b,c/d"}).at(1).name, "data.path=c_d") << "a name is fit for a folder";
}

TEST(SettingGrid, RefusesWhatIsNoSetting) {
  for (const char* wrong : {"clock.alpha", "=3", "clock.alpha=", "clock.alpha=1,,2", "clock.alpha=1,2,"})
    EXPECT_THROW(setting_grid({wrong}), InputError) << wrong;
}

}  // namespace
}  // namespace htfm
