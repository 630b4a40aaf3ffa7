#include "htfm/evaluate/run.h"

#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/train/trainer.h"
#include "test/evaluate/support.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

TEST(ScoreRun, HasTheSamplesTheirScoresAndTheLosses) {
  const test::TemporaryFolder folder;
  const RunConfig config = test::small_run();
  const std::string run = folder / "run";
  Model model = train(config, {.folder = run});
  SampleOptions options = sample_options(config);
  int64_t last = 0;
  options.report = [&](int64_t done, int64_t) { last = done; };
  const at::Tensor samples = sample(model, options).samples;
  const RunReference reference = make_run_reference(config, 300, true);
  const ScoredRun r = score_run(std::move(model), options, reference, run);
  EXPECT_EQ(r.name, "HTFM-α 1.7");
  EXPECT_EQ(last, 300);
  EXPECT_FALSE(r.options.report) << "what it refers to may be gone";
  EXPECT_TRUE(r.sampled.samples.equal(samples));
  EXPECT_EQ(r.scores["f1_prd"], compute_metrics({"f1_prd"}, reference.data.rows, samples)["f1_prd"]);
  EXPECT_EQ(r.losses.step.size(), static_cast<size_t>(r.model.step));
  EXPECT_TRUE(read_losses(folder / "none").step.empty());
  EXPECT_TRUE(read_losses("").step.empty());
}

TEST(RunReference, OfASyntheticLawIsNeverSeenInTraining) {
  const RunConfig config = test::small_run();
  const RunReference reference = make_run_reference(config, config.data.n, true);
  EXPECT_FALSE(reference.data.rows.equal(load_dataset(config).rows));
  EXPECT_TRUE(reference.description.starts_with("600 fresh points of mixture2d")) << reference.description;
  EXPECT_TRUE(reference.yardstick.has_value());
  EXPECT_FALSE(make_run_reference(config, 10, false).yardstick.has_value());
}

TEST(ModelDescription, SaysWhatWasTrained) {
  const Model model = train(test::small_run());
  const ModelDescription d = model.describe();
  EXPECT_EQ(d.method, "htfm");
  EXPECT_EQ(d.clock, model.clock().describe());
  EXPECT_EQ(d.network, "mlp");
  EXPECT_EQ(d.dimension, 2);
  EXPECT_EQ(d.step, 10) << "two passes over 600 rows by 128";
  EXPECT_EQ(d.parameters, model.network().layout().count());
  EXPECT_EQ(d.weights_hash, model.weights_hash());
}

TEST(ModelClock, AnotherLawThanTheTrainedOneIsRefused) {
  const Model model = train(test::small_run());
  EXPECT_NO_THROW(model.check_clock({.family = "stable", .parameters = {{"alpha", 1.7}}}));
  EXPECT_NO_THROW(model.check_clock({.family = "", .parameters = {{"alpha", 1.7}}})) << "the model's own family";
  EXPECT_THROW(model.check_clock({.family = "", .parameters = {{"alpha", 1.5}}}), InputError);
  EXPECT_THROW(model.check_clock({.family = "inverse-gamma", .parameters = {{"nu", 3}}}), InputError);
}

TEST(VariantName, IsThePapers) {
  EXPECT_EQ(variant_name({.family = "deterministic", .parameters = {}}), "HTFM-G");
  EXPECT_EQ(variant_name({.family = "inverse-gamma", .parameters = {{"nu", 3}}}), "HTFM-t 3");
  EXPECT_EQ(variant_name({.family = "stable", .parameters = {{"alpha", 1.7}}}, "dlpm"), "DLPM-α 1.7");
}

TEST(ConfigurationEntries, NameEveryKeyThatHasAValue) {
  const auto entries = config_entries(test::small_run());
  const auto has = [&](const char* key, const char* value) {
    return std::find(entries.begin(), entries.end(), std::pair<std::string, std::string>(key, value)) != entries.end();
  };
  EXPECT_TRUE(has("clock.family", "stable"));
  EXPECT_TRUE(has("train.batch", "128"));
  for (const auto& [key, value] : entries) EXPECT_FALSE(value.empty()) << key;
}

}  // namespace
}  // namespace htfm
