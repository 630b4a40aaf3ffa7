// Conditions: what a network is told, what a user may ask for, and groups of rows alike in them.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/condition/condition_encoder.h"
#include "htfm/condition/condition_groups.h"
#include "htfm/condition/condition_neighbours.h"
#include "htfm/condition/condition_trend.h"
#include "htfm/condition/given_conditions.h"
#include "htfm/io/file.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

// line: fire 3 of 5, marine 2 of 5; region: EU with fire, US with marine; age uniform in 20..80.
ConditionTable table(int64_t n) {
  ConditionTable out{{{"line", {"fire", "marine"}}, {"region", {"EU", "US"}}, {"age", {}}},
                     at::empty({n, 3}, at::kDouble)};
  double* v = out.values.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    const bool marine = i % 5 > 2;
    v[3 * i] = v[3 * i + 1] = marine, v[3 * i + 2] = 20 + 60 * Key(1).uniform(static_cast<uint64_t>(i));
  }
  return out;
}

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const InputError& e) {
    return e.what();
  }
  return {};
}

TEST(ConditionEncoder, ANumberThatIsNotToldHasNoSay) {
  const ConditionTable t = with_untold(table(1000), "age");
  const ConditionEncoder encoder = ConditionEncoder::fit(t, false, Key(0));
  const at::Tensor young = encoder.encode(parse_given(encoder, "line=fire,region=EU,age=30").rows),
                   old = encoder.encode(parse_given(encoder, "line=fire,region=EU,age=70").rows);
  EXPECT_TRUE(young.equal(old));
  EXPECT_FALSE(young.equal(encoder.encode(parse_given(encoder, "line=marine,region=EU,age=30").rows)));
  EXPECT_NE(message([&] { with_untold(table(10), "line"); }).find("the name of a given column of numbers, got 'line'"),
            std::string::npos);
}

TEST(ConditionEncoder, TellsCategoriesApartAndNumbersInOrder) {
  const ConditionTable t = table(1000);
  const ConditionEncoder encoder = ConditionEncoder::fit(t, true, Key(0));
  ASSERT_EQ(encoder.size(), 2 + 2 + 2 + 1);
  at::Tensor given = parse_given(encoder, "line=fire,region=EU,age=30").rows;
  const at::Tensor young = encoder.encode(given),
                   old = encoder.encode(parse_given(encoder, "line=marine,region=EU,age=70").rows);
  const float *a = young.const_data_ptr<float>(), *b = old.const_data_ptr<float>();
  EXPECT_GT(a[0], 0);
  EXPECT_EQ(a[1], 0);
  EXPECT_EQ(b[0], 0);
  EXPECT_GT(b[1], 0);
  EXPECT_LT(a[4], b[4]);
  EXPECT_LT(a[5], b[5]);
  EXPECT_EQ(a[6], 0);
  at::Tensor dropped = encoder.encode(t.values);
  encoder.leave_out(dropped, 0.25, Key(3));
  int64_t absent = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const float* row = dropped.const_data_ptr<float>() + 7 * i;
    if (row[6] == 0) continue;
    ++absent;
    for (int k = 0; k < 6; ++k) EXPECT_EQ(row[k], 0);
  }
  EXPECT_NEAR(static_cast<double>(absent), 250, 4 * std::sqrt(1000 * 0.25 * 0.75));
}

TEST(ConditionEncoder, SaysWhatIsKnown) {
  const ConditionEncoder encoder = ConditionEncoder::fit(table(1000), false, Key(0));
  EXPECT_EQ(encoder.describe().substr(0, 66), "line (one of 2: fire, marine), region (one of 2: EU, US), age (a n");
  EXPECT_NE(message([&] { parse_given(encoder, "line=hail"); }).find("(fire, marine), got 'hail'"), std::string::npos);
  EXPECT_NE(message([&] { parse_given(encoder, "lines=fire"); }).find("one of line, region, age, got 'lines'"),
            std::string::npos);
  EXPECT_NE(message([&] { parse_given(encoder, "age=old"); }).find("expected a number, got 'old'"), std::string::npos);
  EXPECT_NE(message([&] { parse_given(encoder, "line=fire,line=fire"); }).find("each name once"), std::string::npos);
  EXPECT_NE(message([&] { encoder.absent(1); }).find("condition.drop"), std::string::npos);
  EXPECT_TRUE(encoder.warnings(parse_given(encoder, "line=fire,age=84").rows).empty());
  EXPECT_EQ(encoder.warnings(parse_given(encoder, "age=200").rows).size(), 1U);
  EXPECT_EQ(encoder.warnings(parse_given(encoder, "line=fire,region=US").rows).size(), 1U);
}

// What is not given follows the law that it had in training beside what is given.
TEST(ConditionEncoder, DrawsWhatIsNotGiven) {
  const ConditionEncoder encoder = ConditionEncoder::fit(table(1000), false, Key(0));
  constexpr int64_t kDraws = 20000;
  const at::Tensor all = GivenConditions().of_samples(encoder, 0, kDraws, Key(5));
  const double* v = all.const_data_ptr<double>();
  double marine = 0, age = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    EXPECT_EQ(v[3 * i], v[3 * i + 1]);  // never apart in training
    marine += v[3 * i], age += v[3 * i + 2];
  }
  EXPECT_NEAR(marine / kDraws, 0.4, 4 * std::sqrt(0.24 / kDraws));
  double mean = 0;
  const ConditionTable t = table(1000);
  for (int64_t i = 0; i < 1000; ++i) mean += t.values.const_data_ptr<double>()[3 * i + 2] / 1000;
  EXPECT_NEAR(age / kDraws, mean, 4 * 60 / std::sqrt(12.0 * kDraws));
  const at::Tensor some = parse_given(encoder, "region=US").of_samples(encoder, 7, 100, Key(5));
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(some.const_data_ptr<double>()[3 * i], 1);
  // A part of the draws is that part of all.
  EXPECT_TRUE(GivenConditions().of_samples(encoder, 100, 50, Key(5)).equal(all.narrow(0, 100, 50)));
}

TEST(ConditionEncoder, KeepsItsState) {
  const ConditionTable t = table(1000);
  const ConditionEncoder encoder = ConditionEncoder::fit(t, true, Key(0));
  std::map<std::string, at::Tensor> state;
  encoder.save_state(state);
  const ConditionEncoder back = ConditionEncoder::load_state(encoder.columns(), true, state, "test");
  EXPECT_TRUE(back.encode(t.values).equal(encoder.encode(t.values)));
  EXPECT_TRUE(
      GivenConditions().of_samples(back, 0, 100, Key(5)).equal(GivenConditions().of_samples(encoder, 0, 100, Key(5))));
  state.erase("condition.law.2");
  EXPECT_THROW(ConditionEncoder::load_state(encoder.columns(), true, state, "test"), InputError);
}

TEST(GivenConditions, ReadsRows) {
  const test::TemporaryFolder folder;
  ConditionTable t = table(1000);
  t.columns[0].categories = {"1", "7"};
  const ConditionEncoder encoder = ConditionEncoder::fit(t, false, Key(0));
  t.columns[1].categories = {"0", "1"};
  const ConditionEncoder numbers = ConditionEncoder::fit(t, false, Key(0));
  atomic_write(folder / "rows.csv", std::string("age,line,other,region\n30,7,4,1\n40,1,5,\n"));
  GivenConditions given = read_given(numbers, folder / "rows.csv");
  ASSERT_EQ(given.rows.size(0), 2);
  const double* v = given.rows.const_data_ptr<double>();
  EXPECT_EQ(v[0], 1);
  EXPECT_EQ(v[1], 1);
  EXPECT_EQ(v[2], 30);
  EXPECT_EQ(v[3], 0);
  EXPECT_TRUE(std::isnan(v[4]));
  given.each = 3;
  const at::Tensor drawn = given.of_samples(numbers, 0, 8, Key(1));
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(drawn.const_data_ptr<double>()[3 * i + 2], i / 3 % 2 == 0 ? 30 : 40);
  EXPECT_EQ(numbers.as_numbers(given.rows).const_data_ptr<double>()[0], 7);
  atomic_write(folder / "wrong.csv", std::string("age,line,region\n30,8,1\n"));
  EXPECT_NE(message([&] { read_given(numbers, folder / "wrong.csv"); }).find("(1, 7), got '8'"), std::string::npos);
}

TEST(ConditionGroups, RareCombinationsJoinWhatTheyAgreeWith) {
  constexpr int64_t kRows = 1000;
  ConditionTable t{{{"a", {"0", "1"}}, {"b", {"0", "1", "2"}}}, at::empty({kRows, 2}, at::kDouble)};
  double* v = t.values.mutable_data_ptr<double>();
  // a = 0: 400 rows with b = 0, 150 with b = 1, 100 with b = 2; a = 1: 350 with b = 0.
  for (int64_t i = 0; i < kRows; ++i) {
    v[2 * i] = i >= 650;
    v[2 * i + 1] = i < 400 ? 0 : i < 550 ? 1 : i < 650 ? 2 : 0;
  }
  const ConditionGroups groups = ConditionGroups::fit(t);
  EXPECT_EQ(groups.count(), 4);
  const std::vector<int32_t> of = groups.of(t.values);
  EXPECT_NE(of[0], of[999]);
  EXPECT_EQ(of[400], of[600]);  // the rare ones of a = 0, together
  EXPECT_NE(of[400], of[0]);
  const double unseen[] = {1, 2};
  EXPECT_EQ(groups.of(unseen), 0);
  EXPECT_EQ(ConditionGroups::from_numbers(groups.numbers()).of(t.values), of);
}

TEST(ConditionTrend, TakesOutCentreAndScale) {
  constexpr int64_t kRows = 20000;
  ConditionTable t{{{"c", {}}}, at::empty({kRows, 1}, at::kDouble)};
  double* c = t.values.mutable_data_ptr<double>();
  std::vector<double> x(kRows);
  fill_normal(Key(1), 0, kRows, x.data());
  for (int64_t i = 0; i < kRows; ++i) {
    c[i] = Key(2).uniform(static_cast<uint64_t>(i));
    x[i] = 5 * c[i] + std::exp(2 * c[i]) * x[i];
  }
  const ConditionTrend trend = ConditionTrend::fit(x, t, std::nullopt);
  ASSERT_TRUE(trend.there());
  double square[2] = {0, 0}, count[2] = {0, 0};
  for (int64_t i = 0; i < kRows; ++i) {
    const double z = trend.remove(x[i], c + i);
    EXPECT_NEAR(trend.restore(z, c + i), x[i], 1e-9 * (1 + std::abs(x[i])));
    if (c[i] < 0.1 || c[i] > 0.9) square[c[i] > 0.5] += z * z, ++count[c[i] > 0.5];
  }
  // Deviations at both ends differ by a factor of 5 before; what is left is the error of some medians of 1,666 rows.
  const double ratio = std::sqrt(square[1] / count[1] / (square[0] / count[0]));
  EXPECT_NEAR(std::log(ratio), 0, 4 * std::sqrt(2.0) * 1.17 / std::sqrt(1666.0) + 0.05);
  const ConditionTrend back = ConditionTrend::from_numbers(trend.numbers());
  EXPECT_EQ(back.remove(3, c), trend.remove(3, c));
  // A bound stays where it is.
  for (double& v : x) v = std::abs(v);
  const ConditionTrend bounded = ConditionTrend::fit(x, t, 0.0);
  EXPECT_EQ(bounded.remove(0, c), 0);
}

}  // namespace
}  // namespace htfm
