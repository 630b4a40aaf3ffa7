// Every method through trainer, checkpoint and sampler.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/backend.h"
#include "htfm/train/trainer.h"
#include "test/device.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

RunConfig small_run(const std::string& method, std::vector<std::string> more = {}) {
  std::vector<std::string> settings{"method=" + method, "data.n=2000",  "train.batch=256",
                                    "train.epochs=3",   "clock.nu=3",   "clock.alpha=1.7",
                                    "sample.n=100",     "sample.nfe=6", "sample.solver=ab2"};
  settings.push_back(std::string("clock.family=") + (method.starts_with('t') ? "inverse-gamma" : "stable"));
  settings.insert(settings.end(), more.begin(), more.end());
  return parse_config("", "test", settings);
}

// A checkpoint holds all that sampling needs.
TEST(MethodRun, SamplesTheSameAfterACheckpoint) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
  for (const MethodInfo& info : methods()) {
    const RunConfig config = small_run(info.name);
    const Model model = train(config);
    model.save(path);
    const Model loaded = Model::load(path);
    const SampleResult a = sample(model, sample_options(config)), b = sample(loaded, sample_options(loaded.config()));
    EXPECT_TRUE(a.samples.equal(b.samples)) << info.name;
    EXPECT_EQ(a.most_evaluations, info.name == "tedm" ? 5 : 6) << info.name;  // Heun of t-EDM takes 2 N - 1
    EXPECT_EQ(a.diverged, 0) << info.name;
  }
}

TEST(MethodRun, OtherLossesTrain) {
  for (const char* loss : {"squared", "root", "smooth-l1", "median"}) {
    const Model model = train(small_run("dlpm", {std::string("baseline.loss=") + loss}));
    EXPECT_EQ(model.skipped, 0) << loss;
    EXPECT_TRUE(std::isfinite(model.trained.ema.sum().item<double>())) << loss;
  }
  EXPECT_THROW(small_run("dlpm", {"baseline.loss=huber"}), InputError);
  EXPECT_THROW(small_run("htfm", {"baseline.loss=root"}), InputError);
}

TEST(MethodRun, SamplersByName) {
  const Model model = train(small_run("dlpm"));
  SampleOptions options = sample_options(model.config());
  EXPECT_EQ(options.solver, "dlpm");
  const at::Tensor drawn = sample(model, options).samples;
  options.solver = "dlim";
  EXPECT_FALSE(sample(model, options).samples.equal(drawn));
  options.solver = "euler";
  EXPECT_THROW(sample(model, options), InputError);
  EXPECT_EQ(sample_options(small_run("lim", {"baseline.sampler=ode"})).solver, "ode");
  EXPECT_THROW(small_run("lim", {"baseline.sampler=heun"}), InputError);
}

TEST(MethodRun, TrainingOfPointsOnADeviceIsRefused) {
  const RunConfig config = small_run("lim");
  Training training = run_training(config, load_dataset(config));
  const Model& model = training.model;
  EXPECT_THROW(make_backend(training, {}, {at::kCUDA, 0}), InputError);
  if (test::missing_device().empty()) return;
  SampleOptions options = sample_options(model.config());
  options.device = {at::kCUDA, 0};
  EXPECT_THROW(sample(model, options), InputError);
}

// Every sampler of clock-diffusion, for clocks with and without paths and for one that comes from the data.
TEST(MethodRun, ClockDiffusionUnderAnyClock) {
  for (const char* clock : {"deterministic", "inverse-gamma", "stable", "fitted"}) {
    const RunConfig config = small_run("clock-diffusion", {std::string("clock.family=") + clock, "feature.order=2"});
    const Model model = train(config);
    EXPECT_EQ(model.skipped, 0) << clock;
    SampleOptions options = sample_options(model.config());
    EXPECT_EQ(options.solver, "mixed-flow");
    for (const MethodSampler& s : model.method().samplers()) {
      options.solver = s.name;
      const SampleResult drawn = sample(model, options);
      EXPECT_EQ(drawn.diverged, 0) << clock << " " << s.name;
      options.n = 37;  // samples do not depend on how many are drawn
      EXPECT_TRUE(sample(model, options).samples.equal(drawn.samples.narrow(0, 0, 37))) << clock << " " << s.name;
      options.n = drawn.samples.size(0);
    }
  }
}

// Schedules that depend on the clock, through trainer, checkpoint and every kind of solver; and the VE-type one with
// lambda = 0 is the straight line bit for bit.
TEST(MethodRun, SchedulesByTheClock) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
  for (const char* name : {"ve-signature", "signature-linear", "near-linear", "time-warp"}) {
    const RunConfig config = small_run("htfm", {std::string("path.schedule=") + name, "feature.order=2"});
    const Model model = train(config);
    model.save(path);
    const Model loaded = Model::load(path);
    for (const char* grid : {"angle", "clock", "uniform"}) {
      SampleOptions options = sample_options(config);
      options.time_grid = time_grid_by_name(grid);
      const SampleResult a = sample(model, options), b = sample(loaded, options);
      EXPECT_TRUE(a.samples.equal(b.samples)) << name << " " << grid;
      EXPECT_EQ(a.diverged, 0) << name << " " << grid;
    }
  }
  const RunConfig line = small_run("htfm"),
                  flat = small_run("htfm", {"path.schedule=ve-signature", "path.lambda_alpha=0", "path.lambda_beta=0"}),
                  bent = small_run("htfm", {"path.schedule=ve-signature"});
  const Model a = train(line), b = train(flat), c = train(bent);
  EXPECT_TRUE(a.trained.ema.equal(b.trained.ema));
  EXPECT_TRUE(sample(a, sample_options(line)).samples.equal(sample(b, sample_options(flat)).samples));
  EXPECT_FALSE(a.trained.ema.equal(c.trained.ema));
}

TEST(MethodRun, SkewedSources) {
  const RunConfig config = small_run(
      "htfm", {"source.law=skewed-student", "clock.family=inverse-gamma", "source.skew=0.5,-0.2", "source.shift=0.1"});
  const Model model = train(config);
  EXPECT_EQ(model.skipped, 0);
  EXPECT_EQ(sample(model, sample_options(config)).diverged, 0);
  EXPECT_THROW(train(small_run("htfm", {"source.skew=0.5,-0.2,1"})), InputError);  // the data have two columns
}

}  // namespace
}  // namespace htfm
