// Fields as conditions: what a network is told, what is drawn where none is given, and means over blocks.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/condition/condition_encoder.h"
#include "htfm/condition/condition_neighbours.h"
#include "htfm/condition/focus.h"
#include "htfm/condition/given_conditions.h"
#include "htfm/field/block_means.h"
#include "htfm/io/npy.h"
#include "htfm/model/config.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

// Squares of normal numbers on a grid of 2 x 3, with the number of the row added to all of them.
ConditionTable fields(int64_t n) {
  ConditionTable out{{}, at::empty({n, 6}, at::kDouble), {1, 2, 3}};
  fill_normal(Key(1), 0, 6 * n, out.values.mutable_data_ptr<double>());
  out.values.square_().add_(at::arange(n, at::kDouble).view({n, 1}) / static_cast<double>(n));
  return out;
}

TEST(ConditionField, IsToldTwiceAndStandardised) {
  const ConditionTable table = fields(500);
  const ConditionEncoder encoder = ConditionEncoder::fit(table, true, Key(2));
  EXPECT_TRUE(encoder.there());
  EXPECT_EQ(encoder.width(), 6);
  EXPECT_EQ(encoder.size(), 1 + 12);
  const at::Tensor told = encoder.encode(table.values);
  EXPECT_EQ(told.select(1, 0).abs().max().item<float>(), 0) << "something is given";
  for (const int64_t first : {1, 7}) {
    const at::Tensor part = told.narrow(1, first, 6).to(at::kDouble);
    EXPECT_NEAR(part.mean().item<double>(), 0, 1e-5);
    EXPECT_NEAR(part.square().mean().item<double>(), 1, 1e-4);
  }
  // Both grow with the value.
  const at::Tensor two = encoder.encode(at::tensor({0.0, 0.1, 0.2, 1.0, 5.0, 9.0}).view({1, 6}));
  for (const int64_t k : {1, 2, 3, 4, 5, 7, 8, 9, 10, 11})
    EXPECT_LT(two[0][k].item<float>(), two[0][k + 1].item<float>()) << k;
  const at::Tensor absent = encoder.absent(2);
  EXPECT_EQ(absent[1][0].item<float>(), 1);
  EXPECT_EQ(absent.narrow(1, 1, 12).abs().max().item<float>(), 0);
}

TEST(ConditionField, TellsHardlyAnyRainFromNone) {
  ConditionTable table = fields(500);
  table.values.mul_((table.values > 2).to(at::kDouble));  // most points are dry
  const double small = table.values.masked_select(table.values > 0).min().item<double>();
  const ConditionEncoder encoder = ConditionEncoder::fit(table, false, Key(2));
  const at::Tensor told = encoder.encode(at::tensor({0.0, small, 2 * small, 0.0, 0.0, 0.0}).view({1, 6}));
  // The step from dry to the smallest value that was seen is one of the larger ones: a deviation or more.
  EXPECT_GT((told[0][7] - told[0][6]).item<float>(), 1);
  EXPECT_LT((told[0][8] - told[0][7]).item<float>(), (told[0][7] - told[0][6]).item<float>());
  std::map<std::string, at::Tensor> state;
  encoder.save_state(state);
  const ConditionEncoder again = ConditionEncoder::load_state({}, false, state, "file");
  EXPECT_TRUE(again.encode(table.values).equal(encoder.encode(table.values)));
}

TEST(ConditionField, FocusIsAPowerOfTheDistanceFromTheLeastValue) {
  at::Tensor values = at::zeros({40, 6}, at::kDouble);  // of 2 channels of 1 x 3; most rows are dry
  for (int64_t i = 0; i < 10; ++i) values[i].narrow(0, 0, 3).fill_(static_cast<double>(i + 1));
  const ConditionField field{2, 1, 3};
  values.narrow(1, 3, 3).fill_(7);  // a channel that says nothing
  for (const double focus : {0.5, 1.0}) {
    const std::vector<double> w = focus_weights(field, values, focus), more = focus_weights(field, values + 3, focus);
    for (size_t i = 1; i < 10; ++i) EXPECT_NEAR(w[i] / w[0], std::pow(static_cast<double>(i + 1), focus), 1e-12);
    for (size_t i = 10; i < 40; ++i) EXPECT_EQ(w[i], 0.05) << "a twentieth of the mean";
    for (size_t i = 0; i < 40; ++i) EXPECT_NEAR(w[i], more[i], 1e-12) << "distances from the least value";
  }
  EXPECT_EQ(focus_weights(field, at::zeros({3, 6}, at::kDouble), 1), std::vector<double>(3, 1.0));
  EXPECT_THROW(parse_config("", "test", {"condition.focus=0.5"}), InputError);
  EXPECT_THROW(parse_config("", "test", {"condition.field=2x2", "condition.focus=0.5", "coupling.kind=pool"}),
               InputError);
}

TEST(ConditionField, DrawsWhatIsNotGivenFromTraining) {
  const ConditionTable table = fields(50);
  const ConditionEncoder encoder = ConditionEncoder::fit(table, false, Key(2));
  at::Tensor asked = at::full({20, 6}, std::nan(""), at::kDouble);
  asked[3].fill_(2.5);
  const at::Tensor drawn = encoder.completed(asked, Key(3), 0);
  EXPECT_EQ(drawn[3].sub(2.5).abs().max().item<double>(), 0);
  for (int64_t i = 0; i < 20; ++i)
    if (i != 3) {
      EXPECT_TRUE((table.values == drawn[i]).all(1).any().item<bool>()) << i;
    }
  EXPECT_TRUE(encoder.warnings(drawn).empty());
  EXPECT_EQ(encoder.warnings(at::full({1, 6}, 1e6, at::kDouble)).size(), 1U);
}

TEST(ConditionField, KeepsItsState) {
  const ConditionTable table = fields(50);
  const ConditionEncoder encoder = ConditionEncoder::fit(table, true, Key(2));
  std::map<std::string, at::Tensor> state;
  encoder.save_state(state);
  const ConditionEncoder again = ConditionEncoder::load_state({}, true, state, "file");
  EXPECT_EQ(again.describe(), encoder.describe());
  EXPECT_TRUE(again.encode(table.values).equal(encoder.encode(table.values)));
  state["condition.field"] = at::tensor({1.0, 2.0});
  EXPECT_THROW(ConditionEncoder::load_state({}, true, state, "file"), InputError);
}

TEST(ConditionField, NeighboursAreNearInTheirMeans) {
  const ConditionTable table = fields(1000);
  const ConditionNeighbours own = find_neighbours(table);
  EXPECT_GT(own.leaves, 1);
  // Leaves do not overlap: of two of them one has all the larger means.
  std::vector<double> least(static_cast<size_t>(own.leaves), 1e9), most(static_cast<size_t>(own.leaves), -1e9);
  const at::Tensor mean = table.values.mean(1);
  for (int64_t i = 0; i < 1000; ++i) {
    const auto leaf = static_cast<size_t>(own.leaf[static_cast<size_t>(i)]);
    least[leaf] = std::min(least[leaf], mean[i].item<double>()),
    most[leaf] = std::max(most[leaf], mean[i].item<double>());
  }
  for (size_t k = 1; k < least.size(); ++k) EXPECT_LT(most[k - 1], least[k]);
}

TEST(ConditionField, IsReadFromFinerFields) {
  const test::TemporaryFolder folder;
  const ConditionEncoder encoder = ConditionEncoder::fit(fields(50), false, Key(2));
  write_npy(folder / "fine.npy", at::arange(24, at::kFloat).view({1, 1, 4, 6}));
  const GivenConditions given = find_given(encoder, folder / "fine.npy");
  // Blocks of 2 x 2 of rows 0..5, 6..11, ...: the first is 0, 1, 6, 7.
  EXPECT_TRUE(given.rows.equal(at::tensor({3.5, 5.5, 7.5, 15.5, 17.5, 19.5}).view({1, 6})));
  write_npy(folder / "other.npy", at::zeros({1, 1, 5, 6}, at::kFloat));
  EXPECT_THROW(find_given(encoder, folder / "other.npy"), InputError);
  EXPECT_THROW(find_given(encoder, "class=3"), InputError);
}

TEST(BlockMeans, AreMatchedByFactorsOrShifts) {
  at::Tensor x = at::tensor({0.0, 2.0, 1.0, 3.0, 0.0, 0.0, 4.0, 4.0}).view({1, 2, 1, 4});
  const at::Tensor means = at::tensor({3.0, 1.0, 0.5, 1.0}).view({1, 2, 1, 2});
  at::Tensor scaled = x.clone(), shifted = x.clone();
  match_block_means(scaled, means, {true, true});
  EXPECT_TRUE(scaled.equal(at::tensor({0.0, 6.0, 0.5, 1.5, 0.5, 0.5, 1.0, 1.0}).view({1, 2, 1, 4})));
  match_block_means(shifted, means, {false, false});
  EXPECT_TRUE(shifted.equal(at::tensor({2.0, 4.0, 0.0, 2.0, 0.5, 0.5, 1.0, 1.0}).view({1, 2, 1, 4})));
  for (const at::Tensor& y : {scaled, shifted})
    EXPECT_LT((block_means(y, 1, 2) - means).abs().max().item<double>(), 1e-12);
}

}  // namespace
}  // namespace htfm
