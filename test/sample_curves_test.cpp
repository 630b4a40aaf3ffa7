// Learned coefficient curves through trainer, checkpoint and sampler.
#include <gtest/gtest.h>

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/engine.h"
#include "htfm/train/trainer.h"

namespace htfm {
namespace {

RunConfig small(std::vector<std::string> more = {}) {
  std::vector<std::string> settings{"data.n=2000",         "train.batch=256",         "train.epochs=3",
                                    "clock.family=stable", "clock.alpha=1.7",         "sample.n=100",
                                    "sample.nfe=6",        "sample.solver=ab2",       "feature.order=2",
                                    "path.learn=true",     "path.schedule=time-warp", "train.checkpoint_steps=1",
                                    "train.log_steps=1"};
  settings.insert(settings.end(), more.begin(), more.end());
  return parse_config("", "test", settings);
}

TEST(Curves, TrainWithTheNetworkAndAreKept) {
  const std::string path = (std::filesystem::temp_directory_path() / "htfm-curves-test.safetensors").string();
  for (const char* schedule : {"near-linear", "time-warp"}) {
    const RunConfig config = small({std::string("path.schedule=") + schedule});
    const Model model = train(config);
    EXPECT_EQ(model.curves.updates, model.state.updates);
    EXPECT_GT(model.curves.ema.abs().max().item<double>(), 1e-3) << "3 epochs of 8 steps at 5e-3";
    model.save(path);
    const Model loaded = Model::load(path);
    EXPECT_TRUE(loaded.curves.second_moment.equal(model.curves.second_moment));
    EXPECT_EQ(loaded.flow().learned()->text(0), model.flow().learned()->text(0));
    for (const char* grid : {"angle", "clock", "uniform"}) {
      SampleOptions options = sample_options(config);
      options.time_grid = time_grid_by_name(grid);
      const SampleResult a = sample(model, options), b = sample(loaded, options);
      EXPECT_TRUE(a.samples.equal(b.samples)) << schedule << ", " << grid;
      EXPECT_EQ(a.diverged, 0);
    }
  }
  std::filesystem::remove(path);
}

// The method stands at the averaged curves after training: that is what sampling uses.
TEST(Curves, SamplingUsesTheAveragedOnes) {
  Model model = train(small());
  EXPECT_FALSE(model.curves.ema.equal(model.curves.parameters));
  const std::string averaged = model.flow().learned()->text(0);
  model.use_curves(false);
  EXPECT_NE(model.flow().learned()->text(0), averaged);
  model.use_curves(true);
  EXPECT_EQ(model.flow().learned()->text(0), averaged);
  SampleOptions options = sample_options(model.config());
  options.averaged = false;
  EXPECT_THROW(sample(model, options), InputError);
}

TEST(Curves, ResumedRunEndsWithTheSameBits) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "htfm-curves-resume";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string whole = (folder / "whole").string(), cut = (folder / "cut").string();
  train(small(), {.folder = whole});
  struct Stop {};
  EXPECT_THROW(train(small(), {.folder = cut,
                               .report =
                                   [](const TrainProgress& p) {
                                     if (p.step == 7) throw Stop{};
                                   }}),
               Stop);
  train(small(), {.folder = cut, .resume = true});
  EXPECT_EQ(read_file(RunFolder(whole).newest().path), read_file(RunFolder(cut).newest().path));
  std::filesystem::remove_all(folder);
}

TEST(Curves, AreRefusedWhereTheyCannotWork) {
  EXPECT_THROW(small({"method=dlpm"}), InputError);
  EXPECT_THROW(small({"train.validation=0.1"}), InputError);
  EXPECT_THROW(small({"precondition.enabled=false"}), InputError);
  const Dataset data = load_dataset(small());
  const Model model(small(), data);
  try {
    make_engine(model, model.coupled(data), at::kCUDA);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("path.learn"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace htfm
