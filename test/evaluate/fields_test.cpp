#include "htfm/evaluate/fields.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/io/npy.h"
#include "htfm/sample/sample_fields.h"
#include "htfm/train/trainer.h"
#include "test/evaluate/support.h"
#include "test/io/support.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

class EvaluateFields : public testing::Test {
 protected:
  EvaluateFields() { write_field_set(set_, fields_); }
  Model trained() const {
    return train(parse_config(
        "", "test",
        {"data.kind=fields", "data.path=" + set_, "net.width=16", "train.epochs=1", "train.batch=10", "sample.nfe=4"}));
  }

  test::TemporaryFolder folder_;
  const std::string set_ = folder_ / "rain.fields";
  const FieldSet fields_ = test::small_field_set();
};

TEST_F(EvaluateFields, TheHeldOutFieldsThemselvesScoreAsPerfect) {
  write_npy(folder_ / "same.npy", fields_.fields.narrow(0, 20, 10));
  const FieldEvaluation e = evaluate_fields(set_, folder_ / "same.npy");
  EXPECT_EQ(e.scores.real, 10);
  EXPECT_EQ(e.scores.fake, 10);
  EXPECT_EQ(e.scores.kr.value, 0);
  EXPECT_EQ(e.scores.sr.value, 0);
  EXPECT_EQ(e.scores.spectrum_distance.value, 0);
  EXPECT_EQ(e.options.wet, 0.25) << "the set's own threshold";
  EXPECT_EQ(e.channel, "rain");
  EXPECT_EQ(e.unit, "mm/h");
  EXPECT_FALSE(e.examples.real.defined()) << "none were asked for";
  FieldEvaluationOptions options;
  options.wet = 1;
  EXPECT_EQ(evaluate_fields(set_, folder_ / "same.npy", options).options.wet, 1);
}

TEST_F(EvaluateFields, ASetAgainstItselfComparesItsTwoParts) {
  const FieldEvaluation e = evaluate_fields(set_, set_);
  EXPECT_EQ(e.scores.real, 10);
  EXPECT_EQ(e.scores.fake, 20);
}

TEST_F(EvaluateFields, ExamplesEndWithTheLargestMaximum) {
  FieldEvaluationOptions options;
  options.shown = 4, options.part = "all";
  const FieldExamples e = evaluate_fields(set_, set_, options).examples;
  EXPECT_EQ(e.real.sizes(), at::IntArrayRef({4, 8, 8}));
  const at::Tensor maxima = e.real.amax({1, 2});
  EXPECT_TRUE(maxima.slice(0, 1).ge(maxima.slice(0, 0, -1)).all().item<bool>());
  EXPECT_EQ(maxima[3].item<float>(), fields_.fields.max().item<float>());
}

TEST_F(EvaluateFields, ValuesHaveTheNamesThatAreDocumented) {
  const FieldEvaluation e = evaluate_fields(set_, set_);
  const std::vector<MetricValue> values = field_values(e.scores);
  EXPECT_EQ(values.front().name, "kr");
  EXPECT_EQ(values.front().value, e.scores.kr.value);
  const auto named = [&](const char* name) {
    return std::find_if(values.begin(), values.end(), [&](const MetricValue& v) { return v.name == name; });
  };
  for (const char* name :
       {"sr", "tail_ks", "tail_share", "wet_real", "wet_fake", "spectrum_distance", "return_level_10_fake"}) {
    ASSERT_NE(named(name), values.end()) << name;
    EXPECT_TRUE(named(name)->interval) << name;
  }
  EXPECT_FALSE(named("tail_cut")->interval);
}

TEST_F(EvaluateFields, WhatDoesNotFitIsRefused) {
  FieldEvaluationOptions part, channel;
  part.part = "some", channel.channel = 1;
  EXPECT_THROW(evaluate_fields(set_, set_, part), InputError);
  EXPECT_THROW(evaluate_fields(set_, set_, channel), InputError);
  write_npy(folder_ / "small.npy", fields_.fields.narrow(2, 0, 4).contiguous());
  EXPECT_THROW(evaluate_fields(set_, folder_ / "small.npy"), InputError);
}

TEST_F(EvaluateFields, AFileOfSamplesHoldsWhatTheSamplerDraws) {
  const Model model = trained();
  SampleOptions options = sample_options(model.config());
  options.n = 30, options.first = 5;
  int64_t last = 0;
  options.report = [&](int64_t done, int64_t n) {
    EXPECT_LE(done, n);
    last = done;
  };
  const SampleResult written = sample_fields(model, options, folder_ / "s.npy"), drawn = sample(model, options);
  EXPECT_EQ(last, 30);
  const at::Tensor samples = read_npy(folder_ / "s.npy");
  EXPECT_EQ(samples.sizes(), at::IntArrayRef({30, 1, 8, 8}));
  EXPECT_TRUE(samples.view({30, 64}).equal(drawn.samples.to(at::kFloat)));
  EXPECT_EQ(written.evaluations, drawn.evaluations);
  EXPECT_THROW(sample_fields(train(test::small_run()), options, folder_ / "t.npy"), InputError);
}

TEST_F(EvaluateFields, AScoredRunLeavesNoSamplesBehind) {
  const Model model = trained();
  SampleOptions options = sample_options(model.config());
  options.n = 12;
  const ScoredFieldRun run = score_field_run(model, options, folder_ / "scratch.npy");
  EXPECT_EQ(run.evaluation.scores.fake + run.evaluation.scores.nonfinite, 12);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "scratch.npy"));
}

TEST_F(EvaluateFields, APartWithoutFieldsIsToldBeforeSamplesAreDrawn) {
  FieldSet all = fields_;
  all.held_out = at::zeros({30}, at::kByte);
  write_field_set(set_, all);
  const Model model = trained();
  SampleOptions options = sample_options(model.config());
  options.n = 12;
  options.report = [](int64_t, int64_t) { FAIL() << "samples were drawn"; };
  EXPECT_MENTIONS(test::input_error([&] { score_field_run(model, options, folder_ / "scratch.npy"); }),
                  "rain.fields: expected fields of the part held-out, got none among 30");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "scratch.npy"));
}

}  // namespace
}  // namespace htfm
