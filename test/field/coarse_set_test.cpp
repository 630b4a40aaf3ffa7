// A set of means over blocks: field i is that of field i, parts stay parts, a block with one wet point is wet, and what
// the network sees comes back.
#include "htfm/field/coarse_set.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/field/block_means.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

constexpr double kThreshold = 0.1;

// Rain in patches, the first field with a single wet point; every third field is held out.
FieldSet rain_set(int64_t n) {
  FieldSet set;
  set.fields = at::zeros({n, 1, 12, 24}, at::kFloat);
  set.held_out = at::zeros({n}, at::kByte);
  const Key key(3);
  for (int64_t i = 1; i < n; ++i) {
    const auto at = static_cast<uint64_t>(i);
    const auto row = static_cast<int64_t>(6 * key.uniform(2 * at)),
               column = static_cast<int64_t>(12 * key.uniform(2 * at + 1));
    set.fields[i][0].narrow(0, row, 4).narrow(1, column, 7).fill_(kThreshold + 5 * key.child("rate").uniform(at));
    if (i % 3 == 2) set.held_out[i] = 1;
  }
  set.fields[0][0][5][17] = static_cast<float>(kThreshold);
  set.time = at::arange(n, at::kLong) * 360;
  set.place = at::zeros({n, 2}, at::kLong);
  set.corners = at::full({n, 4}, 1.0, at::kDouble);
  set.channels = {"rain"}, set.units = {"mm/h"};
  set.hash = "of a test";
  set.transform = fit_field_transform({.kind = "scores", .threshold = kThreshold, .depth = 1, .reach = 16}, set.fields,
                                      set.held_out);
  return set;
}

TEST(CoarseSet, HasTheMeansOfEachFieldInItsPart) {
  const FieldSet fine = rain_set(300), coarse = coarse_field_set(fine, 3, 4);
  ASSERT_EQ(coarse.fields.sizes(), (std::vector<int64_t>{300, 1, 3, 4}));
  EXPECT_TRUE(coarse.fields.equal(block_means(fine.fields, 3, 4).to(at::kFloat)));
  EXPECT_TRUE(coarse.held_out.equal(fine.held_out));
  EXPECT_TRUE(coarse.time.equal(fine.time));
  EXPECT_EQ(nlohmann::json::parse(coarse.provenance)["coarse"]["set"], "of a test");
  EXPECT_EQ(coarse.units, fine.units);
  // Blocks of 4 x 6: the reach of 16 points would be less than 3 of them.
  EXPECT_NEAR(coarse.transform.reach, 16.0 / 6, 1e-12);
}

TEST(CoarseSet, IsWetWhereOnePointIs) {
  const FieldSet fine = rain_set(300), coarse = coarse_field_set(fine, 3, 4);
  const at::Tensor wet = block_means((fine.fields >= kThreshold).to(at::kFloat), 3, 4) > 0;
  EXPECT_TRUE((coarse.fields >= *coarse.transform.threshold).equal(wet));
  EXPECT_EQ(wet[0].sum().item<int64_t>(), 1);
  // Through the scores and back: what is dry is 0, what is wet is wet.
  const at::Tensor back = coarse.transform.invert(coarse.transform.apply(coarse.fields, Key(1))).view_as(coarse.fields);
  EXPECT_TRUE((back > 0).equal(wet));
}

TEST(CoarseSet, IsReadAgainAndRefusesOtherGrids) {
  const test::TemporaryFolder folder;
  const FieldSet coarse = coarse_field_set(rain_set(60), 3, 4);
  write_field_set(folder / "coarse.fields", coarse);
  const FieldSet again = open_field_set(folder / "coarse.fields");
  EXPECT_TRUE(again.fields.equal(coarse.fields));
  EXPECT_TRUE(again.places(0).first.empty());
  EXPECT_THROW(coarse_field_set(rain_set(60), 5, 4), InputError);
  EXPECT_THROW(coarse_field_set(rain_set(60), 0, 4), InputError);
}

}  // namespace
}  // namespace htfm
