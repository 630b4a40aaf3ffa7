// Rare events of models: those whose law is known since their network gives nothing, and a trained one beside its own
// plain draws.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/io/csv.h"
#include "htfm/io/npy.h"
#include "htfm/rare/rare.h"
#include "htfm/rare/rare_file.h"
#include "htfm/train/trainer.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

RunConfig config_of(std::vector<std::string> more) {
  std::vector<std::string> settings{"data.n=2000", "data.name=student",   "data.nu=3",
                                    "data.dim=2",  "sample.solver=euler", "sample.nfe=2"};
  settings.insert(settings.end(), more.begin(), more.end());
  return parse_config("", "test", settings);
}

// With a network of zeros the flow in angular coordinates stands still: samples are s_d z, for any clock.
Model standing_still(const RunConfig& config) {
  Model model(config, load_dataset(config));
  model.trained.parameters.zero_(), model.trained.ema.zero_();
  return model;
}

// Scores: column k is Q_k(U_k) with U_k uniform, Q_k a margin with a generalised Pareto tail. The probability of being
// beyond a value is that margin's, through TableTransform::invert, down to 1e-8.
TEST(RareModel, ProbabilitiesAndQuantilesAreThoseOfTheMargins) {
  const Model model = standing_still(config_of(
      {"data.normalise=scores", "clock.family=deterministic", "precondition.data_scale=1", "data.whiten=false"}));
  const Margin& margin = model.transform().margin(0);
  for (const double p : {1e-4, 1e-6, 1e-8}) {
    const double value = margin.value({p, true});
    const EventProbability found =
        event_probability(model, {.condition = fmt::format("column(1) > {:.17g}", value)}, {.draws = 10000});
    EXPECT_NEAR(found.probability / p, 1, 4 * found.standard_error / p) << p;
    EXPECT_LT(found.standard_error, 0.05 * p) << p;
    const RareQuantile q = rare_quantile(model, {"column(1)"}, p, {.draws = 10000});
    EXPECT_NEAR(margin.place(q.value, 0.5).p / p, 1, 4 / std::sqrt(q.effective)) << p;
    // Both columns are independent here.
    const double each = std::sqrt(p), other = model.transform().margin(1).value({each, true});
    const EventProbability both = event_probability(
        model,
        {.condition = fmt::format("column(1) > {:.17g} and column(2) > {:.17g}", margin.value({each, true}), other)},
        {.draws = 10000});
    EXPECT_NEAR(both.probability / p, 1, 4 * both.standard_error / p) << p;
  }
}

// A clock that the network is told of: every path of sampling takes what is given.
TEST(RareModel, GivenSourcesAreMovedLikeDrawnOnes) {
  for (const char* clock : {"stable", "inverse-gamma"}) {
    const RunConfig config = config_of({std::string("clock.family=") + clock,
                                        std::string("clock.") + (clock[0] == 's' ? "alpha=1.7" : "nu=3"),
                                        "clock.grid=20", "train.epochs=1"});
    const Model model = train(config);
    for (const char* solver : {"euler", "ab2", "fitted"}) {
      SampleOptions options = sample_options(config);
      options.n = 150, options.solver = solver, options.solve.nfe = 4;
      const SampleResult drawn = sample(model, options);
      const Key key = Key(options.seed).child("sample");
      SourceDraws given;
      given.clocks = model.flow().clock().sample(key.child("clock"), {.count = options.n});
      given.z = at::empty({options.n, 2}, at::kDouble);
      fill_normal(key.child("source"), 0, options.n * 2, given.z.mutable_data_ptr<double>());
      options.given = std::make_shared<const SourceDraws>(given);
      EXPECT_TRUE(sample(model, options).samples.equal(drawn.samples)) << solver << " " << clock;
      options.n = 149;
      EXPECT_THROW(sample(model, options), InputError);
    }
  }
}

// A trained model with a path clock: the size beyond a quantile of many plain draws.
TEST(RareModelSlow, AgreesWithPlainDraws) {
  constexpr double kPlain = 100000;
  const Model model = train(config_of({"clock.family=stable", "clock.alpha=1.7", "clock.grid=20", "train.epochs=3"}));
  SampleOptions options = sample_options(model.config());
  options.n = static_cast<int64_t>(kPlain), options.seed = 77;
  const at::Tensor plain = sample(model, options).samples;
  const double share = 1e-3;
  // Of a portfolio: a number of plain draws beyond the estimated quantile, within 4 standard errors of both.
  const RareQuantile q = rare_quantile(model, {"0.3*column(1) + 0.7*column(2)"}, share);
  const double beyond =
      plain.select(1, 0).mul(0.3).add(plain.select(1, 1), 0.7).gt(q.value).sum().item<double>() / kPlain;
  EXPECT_NEAR(beyond / share, 1, 4 * std::sqrt(1 / (kPlain * share) + 1 / q.effective));
  // Of a condition.
  const EventProbability p = event_probability(model, {.condition = "abs(column(1)) > 8 or column(2) < -9"});
  const double seen =
      plain.select(1, 0).abs().gt(8).logical_or(plain.select(1, 1).lt(-9)).sum().item<double>() / kPlain;
  EXPECT_NEAR(seen, p.probability, 4 * std::sqrt(seen / kPlain + p.standard_error * p.standard_error));
  // Samples beyond the size's own quantile, whose weights say how often they come.
  const RareSamples drawn = sample_beyond(model, {}, 0.999, 500);
  EXPECT_EQ(drawn.samples.size(0), 500);
  EXPECT_NEAR(drawn.weights.mean().item<double>() / share, 1,
              4 * std::sqrt(1 / drawn.probability.effective + 1 / drawn.threshold->effective));
  EXPECT_TRUE(drawn.samples.equal(sample_beyond(model, {}, 0.999, 500).samples));
}

TEST(RareModel, RefusesWhatCannotBe) {
  const Model model = standing_still(config_of({"clock.family=deterministic"}));
  EXPECT_THROW(event_probability(model, {.condition = "column(3) > 1"}), InputError);
  EXPECT_THROW(event_probability(model, {.condition = "column(1)"}), InputError);
  EXPECT_THROW(rare_quantile(model, {"column(1) > 1"}, 1e-4), InputError);
  EXPECT_THROW(sample_beyond(model, {}, 0.3, 10), InputError);
  EXPECT_FALSE(event_probability(model, {.condition = "column(1) > 1e9"}).reached);
  EXPECT_THROW(sample_event(model, {.condition = "column(1) > 1e9"}, 10), InputError);
  EXPECT_THROW(event_probability(standing_still(config_of({"method=dlpm"})), {.condition = "column(1) > 1"}),
               InputError);
}

TEST(RareModel, WritesSamplesWithTheirWeights) {
  const test::TemporaryFolder folder;
  const Model model = standing_still(config_of({"clock.family=deterministic", "data.normalise=zscore"}));
  const RareSamples drawn = sample_event(model, {.condition = "column(1) > 2"}, 50);
  write_rare_samples(model, drawn, folder / "s.npy", folder / "w.npy");
  EXPECT_TRUE(read_npy(folder / "s.npy").equal(drawn.samples));
  EXPECT_TRUE(read_npy(folder / "w.npy").equal(drawn.weights));
  write_rare_samples(model, drawn, folder / "s.csv");
  const Table table = read_csv(folder / "s.csv");
  EXPECT_EQ(table.names.back(), "weight");
  EXPECT_TRUE(table.values.select(1, 2).equal(drawn.weights));
}

}  // namespace
}  // namespace htfm
