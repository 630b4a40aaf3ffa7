// Values of a table that are far beyond all others: what is said of them, and what samples make of them.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/data/stray_sentences.h"
#include "htfm/data/table_transform.h"
#include "htfm/stat/estimators.h"

namespace htfm {
namespace {

constexpr int64_t kStones = 6000;

// Sizes in hundredths of a millimetre, two of which are impossible, beside any number.
Dataset stone_table(bool with_strays = true) {
  Dataset table{.rows = at::empty({kStones, 2}, at::kDouble), .names = {"y", "b"}};
  double* x = table.rows.mutable_data_ptr<double>();
  for (int64_t i = 0; i < kStones; ++i) {
    const auto at = static_cast<uint64_t>(i);
    x[2 * i] = std::round(100 * (5.7 + normal_quantile(Key(1).uniform(at)))) / 100;
    x[2 * i + 1] = normal_quantile(Key(2).uniform(at));
  }
  if (with_strays) x[2 * 17] = 58.9, x[2 * 1900] = 131.8;
  return table;
}

TEST(Strays, AreToldAsWhatTheyAreDrawnAs) {
  const Dataset table = stone_table();
  const TableTransform scored = TableTransform::fit("scores", table.rows, Key(3));
  EXPECT_TRUE(scored.draws_strays(0, true));
  EXPECT_FALSE(scored.draws_strays(0, false) || scored.draws_strays(1, true) || scored.draws_strays(1, false));
  const std::vector<std::string> told = stray_sentences(table, &scored), read = stray_sentences(table);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].rfind("y: far above all others: 58.9, 131.8 (the next is ", 0), 0U) << told[0];
  EXPECT_NE(told[0].find("Errors? If so, leave their rows out. They are drawn as a separate part, 2 of 6000 rows."),
            std::string::npos)
      << told[0];
  EXPECT_NE(read.at(0).find("Errors? If so, leave their rows out. They count as part of its tail."), std::string::npos);
  const TableTransform units = TableTransform::fit("table", table.rows, Key(3));
  EXPECT_EQ(stray_sentences(table, &units), read) << "one clock for all columns draws no part of its own";
}

// The quantiles of samples, on the column's lattice: two in 6,000 are impossible, none is between them and the others,
// and the column beside keeps its bits.
TEST(Strays, SamplesHaveThemAndNothingBetween) {
  const Dataset table = stone_table();
  const TableTransform with = TableTransform::fit("scores", table.rows, Key(3)),
                       none = TableTransform::fit("scores", stone_table(false).rows, Key(3));
  EXPECT_EQ(with.margin(1).numbers(), none.margin(1).numbers());
  std::map<std::string, at::Tensor> kept;
  with.save_state(kept);
  const TableTransform back = TableTransform::load_state(kept, "kept");
  constexpr int64_t kDrawn = 600'000;
  at::Tensor z = at::empty({kDrawn, 2}, at::kDouble);
  const ScoreLaw normal = ScoreLaw::named("normal");
  for (int64_t i = 0; i < kDrawn; ++i)
    z.mutable_data_ptr<double>()[2 * i] = z.mutable_data_ptr<double>()[2 * i + 1] =
        normal.score(TailPlace::of_level((static_cast<double>(i) + 0.5) / kDrawn));
  const at::Tensor drawn = with.invert(z);
  EXPECT_TRUE(drawn.equal(back.invert(z)));
  int64_t strays = 0;
  for (int64_t i = 0; i < kDrawn; ++i) {
    const double y = drawn.const_data_ptr<double>()[2 * i];
    EXPECT_EQ(std::round(100 * y) / 100, y);
    EXPECT_TRUE(y < 12 || (y > 53 && y < 65) || (y > 119 && y < 146)) << y;  // a tenth of the distance from 5.7
    strays += y > 50;
  }
  EXPECT_NEAR(static_cast<double>(strays), 2.0 * kDrawn / kStones, 1);
  // Every row comes back.
  const at::Tensor again = with.invert(with.apply(table.rows, Key(3)).to(at::kDouble));
  for (int64_t i = 0; i < kStones; ++i)
    EXPECT_NEAR(again.const_data_ptr<double>()[2 * i], table.rows.const_data_ptr<double>()[2 * i], 0.005) << i;
}

TEST(Strays, OfAGroupOfConditionsAreDrawnThere) {
  Dataset table = stone_table();
  table.rows.mutable_data_ptr<double>()[2 * 17] = 5890;  // in an odd row; fewer rows say less
  table.rows.mutable_data_ptr<double>()[2 * 1900] = 5.7;
  ConditionTable given{{{"line", {"even", "odd"}}}, at::empty({kStones, 1}, at::kDouble)};
  for (int64_t i = 0; i < kStones; ++i) given.values.mutable_data_ptr<double>()[i] = static_cast<double>(i % 2);
  const TableTransform t = TableTransform::fit("scores", table.rows, {}, {}, Key(3), false, 0, "normal", given);
  EXPECT_TRUE(t.draws_strays(0, true));
  std::vector<size_t> counts;
  for (int64_t g = 0; g < 3; ++g) counts.push_back(t.margin(0, g).strays(true).count());
  EXPECT_EQ(counts, (std::vector<size_t>{1, 0, 1}));
}

}  // namespace
}  // namespace htfm
