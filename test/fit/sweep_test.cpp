#include "htfm/fit/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "htfm/base/error.h"
#include "test/io/support.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

TEST(Sweep, StartsAProgramForEveryPointAndSaysHowEachEnded) {
  const test::TemporaryFolder folder;
  SweepOptions options{.settings = {"clock.family=stable", "clock.alpha=1.5,1.7"}, .folder = folder / "runs"};
  size_t most = 0;
  options.report = [&](size_t done, size_t all, size_t) {
    EXPECT_EQ(all, 2u);
    most = std::max(most, done);
  };
  options.train = {"/bin/echo"};
  const std::vector<SweptRun> runs = sweep(options);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(runs[0].name, "clock.alpha=1.5");
  EXPECT_TRUE(runs[0].failed.empty()) << runs[0].failed;
  EXPECT_FALSE(runs[0].loss) << "nothing was trained";
  const std::string printed = test::slurp(folder / "runs/clock.alpha=1.7/train.txt");
  EXPECT_MENTIONS(printed, "--set clock.family=stable --set clock.alpha=1.7 -o ");
  EXPECT_MENTIONS(printed, " --resume");
  options.train = {"/bin/false"};
  for (const SweptRun& run : sweep(options)) EXPECT_EQ(run.failed, "it printed nothing");
}

TEST(Sweep, AWrongSettingIsToldBeforeTheFirstProgram) {
  const test::TemporaryFolder folder;
  SweepOptions options{.settings = {"clock.alhpa=1.5,1.7"}, .folder = folder / "runs", .train = {"/bin/echo"}};
  EXPECT_MENTIONS(test::input_error([&] { sweep(options); }), "clock.alpha");
  EXPECT_FALSE(std::filesystem::exists(folder / "runs"));
}

}  // namespace
}  // namespace htfm
