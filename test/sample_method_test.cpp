// Every method through trainer, checkpoint and sampler.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/engine.h"
#include "htfm/train/trainer.h"

namespace htfm {
namespace {

RunConfig small(const std::string& method, std::vector<std::string> more = {}) {
  std::vector<std::string> settings{"method=" + method, "data.n=2000",  "train.batch=256", "train.epochs=3",   "clock.nu=3",
                                    "clock.alpha=1.7",  "sample.n=100", "sample.nfe=6",    "sample.solver=ab2"};
  settings.push_back(std::string("clock.family=") + (method.starts_with('t') ? "inverse-gamma" : "stable"));
  settings.insert(settings.end(), more.begin(), more.end());
  return parse_config("", "test", settings);
}

// A checkpoint holds all that sampling needs.
TEST(MethodRun, SamplesTheSameAfterACheckpoint) {
  const std::string path = (std::filesystem::temp_directory_path() / "htfm-method-test.safetensors").string();
  for (const MethodInfo& info : methods()) {
    const RunConfig config = small(info.name);
    const Model model = train(config);
    model.save(path);
    const Model loaded = Model::load(path);
    const SampleResult a = sample(model, sample_options(config)), b = sample(loaded, sample_options(loaded.config()));
    EXPECT_TRUE(a.samples.equal(b.samples)) << info.name;
    EXPECT_EQ(a.most_evaluations, info.name == "tedm" ? 5 : 6) << info.name;  // Heun of t-EDM takes 2 N - 1
    EXPECT_EQ(a.diverged, 0) << info.name;
  }
  std::filesystem::remove(path);
}

TEST(MethodRun, OtherLossesTrain) {
  for (const char* loss : {"squared", "root", "smooth-l1", "median"}) {
    const Model model = train(small("dlpm", {std::string("baseline.loss=") + loss}));
    EXPECT_EQ(model.skipped, 0) << loss;
    EXPECT_TRUE(std::isfinite(model.state.ema.sum().item<double>())) << loss;
  }
  EXPECT_THROW(small("dlpm", {"baseline.loss=huber"}), InputError);
  EXPECT_THROW(small("htfm", {"baseline.loss=root"}), InputError);
}

TEST(MethodRun, SamplersByName) {
  const Model model = train(small("dlpm"));
  SampleOptions options = sample_options(model.config());
  EXPECT_EQ(options.solver, "dlpm");
  const at::Tensor drawn = sample(model, options).samples;
  options.solver = "dlim";
  EXPECT_FALSE(sample(model, options).samples.equal(drawn));
  options.solver = "euler";
  EXPECT_THROW(sample(model, options), InputError);
  EXPECT_EQ(sample_options(small("lim", {"baseline.sampler=ode"})).solver, "ode");
  EXPECT_THROW(small("lim", {"baseline.sampler=heun"}), InputError);
}

TEST(MethodRun, DevicesAreRefused) {
  const Model model = train(small("lim"));
  EXPECT_THROW(make_engine(model, {}, {at::kCUDA, 0}), InputError);
  SampleOptions options = sample_options(model.config());
  options.device = {at::kCUDA, 0};
  EXPECT_THROW(sample(model, options), InputError);
}

}  // namespace
}  // namespace htfm
