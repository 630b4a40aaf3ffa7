// Batches whose groups of columns come from different rows: every row once an epoch, and another company each time. And
// batches whose rows are drawn by weights.
#include "htfm/train/batches.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "htfm/base/error.h"

namespace htfm {
namespace {

// Row i has the values i, 100 + i, 200 + i.
TrainingData numbered(int64_t n) {
  TrainingData set;
  set.rows = at::empty({n, 3}, at::kFloat);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < 3; ++k) set.rows.mutable_data_ptr<float>()[3 * i + k] = static_cast<float>(100 * k + i);
  return set;
}

TEST(Batches, PutsGroupsTogetherAnew) {
  constexpr int64_t kRows = 60, kBatch = 20;
  const TrainingData set = numbered(kRows);
  std::vector<int64_t> places(kRows);
  std::iota(places.begin(), places.end(), int64_t{0});
  Batches batches(Key(1), set, places, kBatch, 0, parse_groups("1,3;2", 3));
  std::set<std::pair<float, float>> pairs;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::multiset<float> seen[3];
    for (int64_t step = 0; step < kRows / kBatch; ++step) {
      const DataBatch batch = batches.at_step(epoch * (kRows / kBatch) + step);
      const float* x = batch.rows.const_data_ptr<float>();
      for (int64_t i = 0; i < kBatch; ++i) {
        EXPECT_EQ(x[3 * i + 2], x[3 * i] + 200);  // of one group
        pairs.emplace(x[3 * i], x[3 * i + 1]);
        for (int64_t k = 0; k < 3; ++k) seen[k].insert(x[3 * i + k]);
      }
    }
    for (int64_t k = 0; k < 3; ++k) {
      std::multiset<float> all;
      for (int64_t i = 0; i < kRows; ++i) all.insert(static_cast<float>(100 * k + i));
      EXPECT_EQ(seen[k], all);
    }
  }
  EXPECT_GT(pairs.size(), 3 * kRows * 9 / 10);  // of 3600 pairs hardly any twice
}

TEST(Batches, GroupsAreRead) {
  using Groups = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(parse_groups("", 3), Groups());
  EXPECT_EQ(parse_groups("1;2,3", 3), (Groups{{1, 2}}));
  EXPECT_EQ(parse_groups("2;3", 3), (Groups{{2}}));
  EXPECT_THROW(parse_groups("1;4", 3), InputError);
  EXPECT_THROW(parse_groups("1;1", 3), InputError);
  EXPECT_THROW(parse_groups("1;x", 3), InputError);
}

TEST(Batches, DrawsEachRowInProportionToItsWeight) {
  constexpr int64_t kRows = 50, kBatch = 10, kEpochs = 400;
  const TrainingData set = numbered(kRows);
  std::vector<int64_t> places(kRows);
  std::iota(places.begin(), places.end(), int64_t{0});
  std::vector<double> weights(kRows);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i * i) / 100 + 0.05;
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  Batches batches(Key(1), set, places, kBatch, 0, {}, weights);
  std::vector<int64_t> seen(kRows);
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    std::vector<int64_t> own(kRows);
    for (int64_t step = 0; step < kRows / kBatch; ++step) {
      const DataBatch batch = batches.at_step(epoch * (kRows / kBatch) + step);
      for (int64_t i = 0; i < kBatch; ++i) ++own[static_cast<size_t>(batch.rows[i][0].item<float>())];
    }
    for (size_t i = 0; i < own.size(); ++i) {
      const double expected = kRows * weights[i] / total;
      EXPECT_LT(std::abs(static_cast<double>(own[i]) - expected), 1) << i;  // systematic: never more than one off
      seen[i] += own[i];
    }
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    const double expected = kEpochs * kRows * weights[i] / total;
    EXPECT_NEAR(static_cast<double>(seen[i]), expected, 4 * std::sqrt(kEpochs) * 0.5) << i;
  }
}

}  // namespace
}  // namespace htfm
