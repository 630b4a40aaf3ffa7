// Learned coefficient curves through trainer, checkpoint and sampler.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/loss.h"
#include "htfm/train/trainer.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

RunConfig small_learned(std::vector<std::string> more = {}) {
  std::vector<std::string> settings{"data.n=2000",         "train.batch=256",         "train.epochs=3",
                                    "clock.family=stable", "clock.alpha=1.7",         "sample.n=100",
                                    "sample.nfe=6",        "sample.solver=ab2",       "feature.order=2",
                                    "path.learn=true",     "path.schedule=time-warp", "train.checkpoint_steps=1",
                                    "train.log_steps=1"};
  settings.insert(settings.end(), more.begin(), more.end());
  return parse_config("", "test", settings);
}

TEST(Curves, TrainWithTheNetworkAndAreKept) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "curves.safetensors";
  for (const char* schedule : {"near-linear", "time-warp"}) {
    const RunConfig config = small_learned({std::string("path.schedule=") + schedule});
    const Training training = run_training(config, load_dataset(config));
    const Model& model = training.model;
    EXPECT_EQ(training.state.curves.updates, training.state.network.updates);
    EXPECT_GT(model.curves.ema.abs().max().item<double>(), 1e-3) << "3 epochs of 8 steps at 5e-3";
    save_checkpoint(path, model, training.state);
    const Training again = load_checkpoint(path);
    const Model& loaded = again.model;
    EXPECT_TRUE(again.state.curves.second_moment.equal(training.state.curves.second_moment));
    EXPECT_EQ(loaded.flow().learned()->text(0), model.flow().learned()->text(0));
    for (const char* grid : {"angle", "clock", "uniform"}) {
      SampleOptions options = sample_options(config);
      options.time_grid = time_grid_by_name(grid);
      const SampleResult a = sample(model, options), b = sample(loaded, options);
      EXPECT_TRUE(a.samples.equal(b.samples)) << schedule << ", " << grid;
      EXPECT_EQ(a.diverged, 0);
    }
  }
}

// The method stands at the averaged curves after training: that is what sampling uses.
TEST(Curves, SamplingUsesTheAveragedOnes) {
  Model model = train(small_learned());
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

// What the curves are trained on (FlowMatching::curve_loss) comes out smaller than under the straight line, for the
// same network, angles and clocks. The bound is 4 standard errors of a ratio of means.
TEST(Curves, ComeOutBetterThanTheStraightLine) {
  const RunConfig config = small_learned({"train.epochs=60", "train.checkpoint_steps=1000", "train.log_steps=1000"});
  const Dataset data = load_dataset(config);
  const Model model = train(config, data);
  const FlowMatching& flow = model.flow();
  const TrainingData set = model.training_data(data);
  std::vector<int64_t> index(static_cast<size_t>(set.rows.size(0)));
  std::iota(index.begin(), index.end(), int64_t{0});
  RunningStandardiser standardiser = model.standardiser;
  const PairPlan plan = flow.plan_pairs(Key(9), {set.rows, index, 0}, standardiser);
  std::vector<double> errors(index.size());
  std::vector<float> unused(static_cast<size_t>(model.network().layout().size()));
  batch_gradient(flow.loss(), model.network(), model.trained.ema.const_data_ptr<float>(), Method::pairs(plan),
                 unused.data(), errors);
  double learned = 0, straight = 0, squares = 0;
  std::vector<std::array<double, 2>> parts;
  for (size_t i = 0; i < index.size(); ++i) {
    const auto own = flow.scales(plan.source.area.const_data_ptr<double>()[i],
                                 ScheduleFeature::row(plan.source.coordinates, static_cast<int64_t>(i)));
    const Coefficients c = flow.learned()->at(plan.path_time[i], own.coordinates);
    const double t = c.alpha / (c.alpha + c.beta), r = own.data / own.source;  // the straight line has this angle at t
    const auto turning = [&](const Coefficients& k) {
      return r * (k.dalpha * k.beta - k.alpha * k.dbeta) / (k.beta * k.beta + r * r * k.alpha * k.alpha);
    };
    const double weight = errors[i] * turning(c);
    parts.push_back({weight * turning(c), weight * turning({t, 1 - t, 1, -1})});
    learned += parts.back()[0], straight += parts.back()[1];
  }
  const double ratio = learned / straight;
  for (const auto& [a, b] : parts) squares += (a - ratio * b) * (a - ratio * b);
  const double error = std::sqrt(squares) / straight;
  EXPECT_LT(ratio + 4 * error, 1);
  RecordProperty("ratio", fmt::format("{:.3f} ± {:.3f}", ratio, error));
  std::vector<double> gradient;
  EXPECT_NEAR(flow.curve_loss(plan, errors, gradient), std::log(learned / static_cast<double>(index.size())), 1e-9);
}

TEST(Curves, ResumedRunEndsWithTheSameBits) {
  const test::TemporaryFolder folder;
  const std::string whole = folder / "whole", cut = folder / "cut";
  train(small_learned(), {.folder = whole});
  struct Stop {};
  EXPECT_THROW(train(small_learned(), {.folder = cut,
                                       .report =
                                           [](const TrainProgress& p) {
                                             if (p.step == 7) throw Stop{};
                                           }}),
               Stop);
  train(small_learned(), {.folder = cut, .resume = true});
  EXPECT_EQ(read_file(RunFolder(whole).newest().path), read_file(RunFolder(cut).newest().path));
}

TEST(Curves, AreRefusedWhereTheyCannotWork) {
  EXPECT_THROW(small_learned({"method=dlpm"}), InputError);
  EXPECT_THROW(small_learned({"train.validation=0.1"}), InputError);
  EXPECT_THROW(small_learned({"precondition.enabled=false"}), InputError);
}

}  // namespace
}  // namespace htfm
