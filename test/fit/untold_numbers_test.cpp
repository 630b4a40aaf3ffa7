// Which numbers that are given the network is told: those on which scores depend, in whatever way.
#include "htfm/fit/untold_numbers.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace htfm {
namespace {

struct Row {
  double z1, z2;     // standard normal, independent
  double age, size;  // uniform, independent of all
  bool marine;
};
using Scores = std::pair<double, double>;

// Given: line (fire, marine), age, size. The scores of a row are what `law` makes of it.
std::vector<std::string> untold(const std::function<Scores(const Row&)>& law, uint64_t seed = 5, int64_t n = 8000) {
  at::Tensor scores = at::empty({n, 2}, at::kDouble);
  ConditionTable given{{{"line", {"fire", "marine"}}, {"age"}, {"size"}}, at::empty({n, 3}, at::kDouble)};
  double *z = scores.mutable_data_ptr<double>(), *c = given.values.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    const Key key = Key(seed).child(static_cast<uint64_t>(i));
    double z01[2] = {};
    fill_normal(key, 0, 2, z01);
    const Row row{z01[0], z01[1], key.uniform(4), key.uniform(5), key.uniform(6) < 0.5};
    const Scores own = law(row);
    z[2 * i] = own.first, z[2 * i + 1] = own.second;
    c[3 * i] = row.marine, c[3 * i + 1] = row.age, c[3 * i + 2] = row.size;
  }
  return untold_numbers(scores, given, Key(1));
}

TEST(UntoldNumbers, ScoresThatDoNotDependOnThemNeedNotBeTold) {
  const auto free = [](const Row& r) { return Scores{r.z1, 0.6 * r.z1 + 0.8 * r.z2}; };
  int64_t both = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) both += untold(free, 100 + seed).size() == 2;
  // In a table one of them is taken for one that matters with probability 1/20 at the most: 4 standard errors.
  EXPECT_GE(static_cast<double>(both), 40 - 2 - 4 * std::sqrt(40 * 0.05 * 0.95));
  EXPECT_TRUE(untold(free, 1, 900).empty());  // too few rows to tell
}

TEST(UntoldNumbers, ThoseThatShapeTheLawAreTold) {
  using Names = std::vector<std::string>;
  const Names size{"size"}, none;
  EXPECT_EQ(untold([](const Row& r) { return Scores{r.z1 + 0.3 * r.age, r.z2}; }), size);            // place
  EXPECT_EQ(untold([](const Row& r) { return Scores{r.z1 * std::exp(0.3 * r.age), r.z2}; }), size);  // width
  // The width of one line alone, and in opposite ways in the two.
  EXPECT_EQ(untold([](const Row& r) { return Scores{r.z1 * (r.marine ? std::exp(0.5 * r.age) : 1), r.z2}; }), size);
  EXPECT_EQ(untold([](const Row& r) {
              const double width = std::exp(0.5 * (r.age - 0.5) * (r.marine ? 1 : -1));
              return Scores{r.z1 * width, r.z2};
            }),
            size);
  // How the columns go together, and what two numbers do together.
  EXPECT_EQ(untold([](const Row& r) {
              const double together = 1.6 * (r.age - 0.5);
              return Scores{r.z1, together * r.z1 + std::sqrt(1 - together * together) * r.z2};
            }),
            size);
  EXPECT_EQ(untold([](const Row& r) {
              return Scores{r.z1 * std::exp(2 * (r.age - 0.5) * (r.size - 0.5)), r.z2};
            }),
            none);
}

}  // namespace
}  // namespace htfm
