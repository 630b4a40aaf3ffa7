// Couplings given a condition: levels are uniform given it, and sources keep their law given it.
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "htfm/condition/condition_neighbours.h"
#include "htfm/coupling/coupling.h"
#include "test/conditional_data.h"
#include "test/statistics.h"

namespace htfm {
namespace {

constexpr int64_t kRows = 30000;

struct Known {
  at::Tensor rows;
  ConditionTable given;
};

Known known_law() {
  const Dataset data = test::conditional_data(Key(1), kRows);
  return {data.rows.narrow(1, 0, 1).to(at::kFloat).contiguous(),
          {{{"kind", {"0", "1", "2"}}, {"c", {}}}, data.rows.narrow(1, 1, 2).contiguous()}};
}

std::vector<double> levels_of(const Known& known, const MagnitudeLaw& sizes) {
  std::vector<int64_t> index(kRows);
  std::iota(index.begin(), index.end(), int64_t{0});
  return sizes.levels(Key(3), {known.rows, index, 0});
}

// sqrt(n) times the distance from the uniform law, among rows of a category with c in a part of (0, 1).
double distance_in(const Known& known, const std::vector<double>& level, int category, double from, double to) {
  const double* v = known.given.values.const_data_ptr<double>();
  std::vector<double> u;
  for (int64_t i = 0; i < kRows; ++i)
    if (v[2 * i] == category && v[2 * i + 1] >= from && v[2 * i + 1] < to) u.push_back(level[i]);
  return test::kolmogorov_smirnov(u, [](double x) { return x; });
}

TEST(LevelsGivenCondition, AreUniformInEveryCategoryAndAlongANumber) {
  const Known known = known_law();
  const auto neighbours = std::make_shared<const ConditionNeighbours>(find_neighbours(known.given));
  const std::shared_ptr<const SizeStatistic> size = make_size(SizeSpec{}, known.rows, {});
  const std::vector<double> given = levels_of(known, MagnitudeLaw(size, known.rows, neighbours)),
                            plain = levels_of(known, MagnitudeLaw(size, known.rows));
  for (int category = 0; category < 3; ++category) {
    EXPECT_LT(distance_in(known, given, category, 0, 1), test::kKolmogorovBound);
    EXPECT_GT(distance_in(known, plain, category, 0, 1), test::kKolmogorovBound);
    for (int part = 0; part < 7; ++part)  // other parts than the leaves, which halve
      EXPECT_LT(distance_in(known, given, category, part / 7.0, (part + 1) / 7.0), test::kKolmogorovBound)
          << category << " " << part;
  }
  // Over all rows too, and the largest row of a category stands at its end.
  std::vector<double> all = given;
  EXPECT_LT(test::kolmogorov_smirnov(all, [](double x) { return x; }), test::kKolmogorovBound);
}

// Transport that looks at all rows of a batch gives a category the sources that lie near it.
TEST(TransportGivenCondition, LeavesTheSourceIndependentOfTheCategory) {
  constexpr int64_t kBatch = 256, kBatches = 40;
  at::Tensor rows = at::empty({kBatch, 2}, at::kFloat);
  ConditionTable given{{{"side", {"left", "right"}}}, at::empty({kBatch, 1}, at::kDouble)};
  for (int64_t i = 0; i < kBatch; ++i) {
    const bool right = i % 2 == 1;
    given.values.mutable_data_ptr<double>()[i] = right;
    for (int64_t k = 0; k < 2; ++k)
      rows.mutable_data_ptr<float>()[2 * i + k] =
          static_cast<float>((right ? 3 : -3) + Key(1).uniform(static_cast<uint64_t>(2 * i + k)));
  }
  // Too few rows for laws of their own, so the parts are given here.
  auto neighbours = std::make_shared<ConditionNeighbours>();
  neighbours->groups = neighbours->leaves = 2;
  for (int64_t i = 0; i < kBatch; ++i) neighbours->group.push_back(static_cast<int32_t>(i % 2));
  neighbours->leaf = neighbours->group;
  std::vector<int64_t> index(kBatch);
  std::iota(index.begin(), index.end(), int64_t{0});
  const auto clock = make_clock({"deterministic", {}, 4});
  const PathFeature feature(*clock, {.kind = "none"});
  const SourceSampler source(*clock, feature);
  for (const char* kind : {"ot", "ot-given-clock"}) {
    std::map<bool, double> mean;
    for (const bool apart : {true, false}) {
      CouplingSpec spec;
      spec.kind = kind;
      CouplingContext context{spec, source, 2, Key(7)};
      if (apart) context.neighbours = neighbours;
      const auto coupling = make_coupling(context);
      for (int64_t b = 0; b < kBatches; ++b) {
        const SourceBatch s = coupling->pair(Key(9).child(static_cast<uint64_t>(b)), {rows, index, b * kBatch}, {});
        for (int64_t i = 1; i < kBatch; i += 2)
          mean[apart] += s.source.const_data_ptr<double>()[2 * i] / (kBatches * kBatch / 2.0);
      }
    }
    const double deviation = std::sqrt(2 * clock->sample(Key(1), {.count = 1}).area.item<double>());
    EXPECT_NEAR(mean[true], 0, 4 * deviation / std::sqrt(kBatches * kBatch / 2.0)) << kind;
    EXPECT_GT(mean[false], 0.3 * deviation) << kind;
  }
}

}  // namespace
}  // namespace htfm
