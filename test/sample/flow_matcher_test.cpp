// Training pairs for a loop of one's own, and samples with a network of one's own.
#include "htfm/model/flow_matcher.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/data/synthetic.h"
#include "htfm/sample/sampler.h"
#include "htfm/stat/points.h"
#include "htfm/train/trainer.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

RunConfig small_config(const std::string& coupling, bool precondition = true) {
  return with_settings({}, {"clock.family=stable", "clock.alpha=1.7", "coupling.kind=" + coupling, "data.n=600",
                            fmt::format("precondition.enabled={}", precondition), "train.epochs=2", "train.batch=200",
                            "coupling.pool=4096"});
}

TEST(FlowMatcher, GivesThePairsOfTheMethod) {
  for (const char* coupling : {"independent", "pool", "ot"}) {
    const RunConfig config = small_config(coupling);
    const Dataset data = load_dataset(config);
    TrainingData seen;
    Model model(config, data, &seen);
    FlowMatcher matcher(config, data.rows.to(at::kFloat));
    int64_t position = 0;
    for (uint64_t step = 0; step < 3; ++step) {
      const at::Tensor rows = seen.rows.narrow(0, static_cast<int64_t>(step) * 200, 200).contiguous();
      const TrainingPairs expected =
          model.method().pairs(Key(0).child("train").child(step), {rows, {}, position}, model.standardiser);
      const FlowMatcher::Pairs found = matcher.sample(rows);
      EXPECT_TRUE(at::equal(found.x, expected.x)) << coupling;
      EXPECT_TRUE(at::equal(found.t, expected.t)) << coupling;
      EXPECT_TRUE(at::equal(found.target, expected.target)) << coupling;
      EXPECT_TRUE(at::equal(found.feature, expected.feature)) << coupling;
      position += 200;
    }
  }
}

// A device makes the points of the radius itself, and finds the sizes: a plan then says the same.
TEST(FlowMatcher, PlansWithoutPointsAndWithGivenSizes) {
  for (const char* family : {"stable", "inverse-gamma"}) {
    RunConfig config = small_config("pool");
    config.clock.family = family;
    config.clock.parameters = {{family == std::string("stable") ? "alpha" : "nu", 1.7}};
    const Dataset data = load_dataset(config);
    TrainingData seen;
    Model model(config, data, &seen);
    const at::Tensor rows = seen.rows.narrow(0, 100, 200).contiguous();
    RunningStandardiser one = model.standardiser, other = model.standardiser;
    const Key key = Key(0).child("train");
    const PairPlan whole = model.method().plan_pairs(key, {rows, {}, 0}, one);
    const at::Tensor centre = model.method().flow()->distance_centre();
    ASSERT_TRUE(centre.defined());
    DataBatch batch{.rows = rows, .index = {}, .position = 0};
    batch.takes_radius = true, batch.sizes = at::empty({200}, at::kDouble);
    const std::vector<double> c(centre.const_data_ptr<double>(), centre.const_data_ptr<double>() + centre.numel());
    for (int64_t i = 0; i < 200; ++i)
      batch.sizes.mutable_data_ptr<double>()[i] = distance(rows.const_data_ptr<float>() + i * rows.size(1), c);
    const PairPlan told = model.method().plan_pairs(key, batch, other);
    ASSERT_TRUE(whole.source.source.defined());
    ASSERT_FALSE(told.source.source.defined());
    EXPECT_TRUE(at::equal(told.points(), whole.points())) << family;
    EXPECT_TRUE(at::equal(told.points(50, 90), whole.points(50, 90))) << family;
    EXPECT_TRUE(at::equal(told.source.area, whole.source.area)) << family;
  }
  EXPECT_FALSE(FlowMatcher(small_config("independent"), at::ones({5, 2})).flow().distance_centre().defined());
}

TEST(FlowMatcher, KeepsTypeAndShapeAndGoesOnFromItsState) {
  const RunConfig config = small_config("pool");
  const at::Tensor rows = load_dataset(config).rows.reshape({600, 1, 2});
  FlowMatcher matcher(config, rows), other(config, rows);
  const at::Tensor batch = rows.narrow(0, 0, 50);
  (void)matcher.sample(batch);
  other.load_state(matcher.state());
  const FlowMatcher::Pairs a = matcher.sample(batch), b = other.sample(batch);
  EXPECT_EQ(a.x.scalar_type(), at::kDouble);
  EXPECT_EQ(a.x.sizes(), batch.sizes());
  EXPECT_TRUE(at::equal(a.x, b.x));
  EXPECT_TRUE(at::equal(a.feature, b.feature));
  EXPECT_THROW(matcher.sample(rows.reshape({600, 2})), InputError);
}

// A trained model's network as a function gives the model's samples up to rounding.
TEST(FlowMatcher, SamplesAsTheModelDoes) {
  for (const bool precondition : {true, false})
    for (const char* solver : {"ab2", "euler", "dopri5"}) {
      const RunConfig config = small_config("pool", precondition);
      const Dataset data = load_dataset(config);
      const Model model = train(config, data);
      FlowMatcher matcher(config, data.rows.to(at::kFloat));
      std::map<std::string, at::Tensor> state = matcher.state();
      const RunningStandardiser::State own = model.standardiser.state();
      state["feature.count"] = own.count, state["feature.mean"] = own.mean, state["feature.m2"] = own.m2;
      matcher.load_state(state);
      SampleOptions options = sample_options(config);
      options.n = 70, options.solver = solver, options.device_rows = 32;
      options.solve.nfe = std::string(solver) == "dopri5" ? 2000 : 8;
      const float* weights = model.weights().const_data_ptr<float>();
      const SampleResult drawn = sample(
          matcher,
          [&](const at::Tensor& t, const at::Tensor& x, const at::Tensor& feature) {
            return model.network().forward(weights, {x, t, feature});
          },
          options);
      const SampleResult expected = sample(model, options);
      const at::Tensor scale = expected.samples.abs().add(1);
      EXPECT_LT(drawn.samples.sub(expected.samples).abs().div(scale).max().item<double>(), 1e-3)
          << solver << ", preconditioned " << precondition;
      EXPECT_TRUE(at::equal(drawn.area, expected.area));
    }
}

TEST(FlowMatcher, RefusesANetworkOfAnotherShape) {
  const RunConfig config = small_config("independent");
  const at::Tensor rows = load_dataset(config).rows;
  FlowMatcher matcher(config, rows);
  SampleOptions options = sample_options(config);
  options.n = 4, options.solver = "euler";
  const NetworkCall zero = [](const at::Tensor&, const at::Tensor& x, const at::Tensor&) { return x.mul(0); };
  const NetworkCall wrong = [](const at::Tensor& t, const at::Tensor&, const at::Tensor&) { return t; };
  EXPECT_THROW((void)sample(matcher, zero, options), InputError);  // before any pairs were drawn
  (void)matcher.sample(rows);
  EXPECT_EQ(sample(matcher, zero, options).samples.size(0), 4);
  EXPECT_THROW((void)sample(matcher, wrong, options), InputError);
}

TEST(Train, EndsWhereItIsAskedToAndGoesOn) {
  const RunConfig config = small_config("independent");
  const test::TemporaryFolder place;
  const std::string folder = place / "run";
  const Model whole = train(config);
  int64_t asked = 0;
  EXPECT_THROW(train(config, {.folder = folder, .stop = [&] { return ++asked == 3; }}), Interrupted);
  EXPECT_EQ(RunFolder(folder).newest().step, 3);
  EXPECT_EQ(train(config, {.folder = folder, .resume = true}).weights_hash(), whole.weights_hash());
}

}  // namespace
}  // namespace htfm
