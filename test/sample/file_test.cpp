// Samples written as they are drawn are those that are drawn at once.
#include <gtest/gtest.h>

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/io/csv.h"
#include "htfm/io/npy.h"
#include "htfm/sample/sample_file.h"
#include "htfm/train/trainer.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

class SampleFile : public testing::Test {
 protected:
  SampleFile()
      : model_(train(parse_config("", "test",
                                  {"data.n=300", "clock.family=inverse-gamma", "clock.nu=3", "train.epochs=2",
                                   "data.normalise=robust", "sample.solver=fitted", "sample.nfe=4"}))) {
    options_ = sample_options(model_.config());
    options_.n = 1000;
  }
  test::TemporaryFolder folder_;
  Model model_;
  SampleOptions options_;
};

TEST_F(SampleFile, HoldsWhatIsDrawnAtOnce) {
  const SampleResult drawn = sample(model_, options_),
                     written = sample_to_file(
                         model_, options_, {.path = folder_ / "s.npy", .area = folder_ / "a.npy", .part_bytes = 4800});
  EXPECT_TRUE(read_npy(folder_ / "s.npy").equal(drawn.samples));
  EXPECT_TRUE(read_npy(folder_ / "a.npy").equal(drawn.area));
  EXPECT_NEAR(written.evaluations, drawn.evaluations, 1e-9);
  EXPECT_EQ(written.most_evaluations, drawn.most_evaluations);
  EXPECT_EQ(written.plan_error, drawn.plan_error) << "the solver is fitted once";
  sample_to_file(model_, options_, {.path = folder_ / "s.csv", .part_bytes = 4800});
  EXPECT_EQ(test::slurp(folder_ / "s.csv"),
            format_csv(drawn.samples, model_.column_names(), model_.transform().digits()));
  EXPECT_EQ(folder_.count(), 3);
}

TEST_F(SampleFile, GoesOnWhereItWasStopped) {
  options_.solver = "ab2";
  const SampleResult drawn = sample(model_, options_);
  SampleOptions stopped = options_;
  stopped.report = [](int64_t done, int64_t) {
    if (done > 500) throw Interrupted("stopped");
  };
  const SampleFileOptions file{
      .path = folder_ / "s.npy", .area = folder_ / "a.npy", .resume = true, .part_bytes = 4800};
  EXPECT_THROW(sample_to_file(model_, stopped, file), Interrupted);
  EXPECT_FALSE(std::filesystem::exists(file.path));
  SampleOptions other = options_;
  other.seed = 5;
  EXPECT_THROW(sample_to_file(model_, other, file), InputError) << "other samples";
  int64_t first = -1;
  SampleOptions rest = options_;
  rest.report = [&](int64_t done, int64_t) { first = first < 0 ? done : first; };
  sample_to_file(model_, rest, file);
  EXPECT_GT(first, 500) << "what was there is not drawn again";
  EXPECT_TRUE(read_npy(file.path).equal(drawn.samples));
  EXPECT_TRUE(read_npy(file.area).equal(drawn.area));
  EXPECT_EQ(folder_.count(), 2);
}

}  // namespace
}  // namespace htfm
