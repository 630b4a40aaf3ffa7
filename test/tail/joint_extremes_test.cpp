// Extremes that come together or alone, told apart on laws that are known.
#include "htfm/tail/joint_extremes.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/stat/student_t.h"

namespace htfm {
namespace {

// Three normal columns, the first two of which have this correlation.
at::Tensor normal_rows(int64_t n, double correlation, uint64_t seed) {
  at::Tensor rows = at::empty({n, 3}, at::kDouble);
  double* x = rows.mutable_data_ptr<double>();
  fill_normal(Key(seed), 0, 3 * n, x);
  for (int64_t i = 0; i < n; ++i)
    x[3 * i + 1] = correlation * x[3 * i] + std::sqrt(1 - correlation * correlation) * x[3 * i + 1];
  return rows;
}

// Two columns that share their upper extremes: the larger of a common and an own unit Frechet variable has chi = 1/2.
at::Tensor shared_maxima(int64_t n, uint64_t seed) {
  at::Tensor rows = at::empty({n, 2}, at::kDouble);
  double* x = rows.mutable_data_ptr<double>();
  const Key key(seed);
  for (int64_t i = 0; i < n; ++i) {
    const auto frechet = [&](uint64_t k) { return -1 / std::log(key.child(k).uniform(static_cast<uint64_t>(i))); };
    const double common = frechet(0);
    x[2 * i] = std::max(common, frechet(1)), x[2 * i + 1] = std::max(common, frechet(2));
  }
  return rows;
}

TEST(JointExtremes, NormalColumnsAreExtremeAlone) {
  const JointExtremes j = diagnose_joint(normal_rows(10000, 0.6, 1), {"a", "b", "c"});
  ASSERT_EQ(j.pairs.size(), 3u);
  EXPECT_FALSE(j.any_together()) << j.sentence;
  const CornerExtremes& both = j.pairs[0].corners[0];
  EXPECT_EQ(both.verdict, JointVerdict::alone);
  // eta is (1 + 0.6) / 2 in the limit, and a little less on the way there.
  EXPECT_LT(both.eta.interval.lower, 0.8);
  EXPECT_GT(both.eta.interval.upper, 0.72);
  // chi(u) of independent columns is 1 - u.
  for (size_t l = 0; l < j.levels.size(); ++l) {
    EXPECT_LE(j.pairs[1].corners[0].chi[l].interval.lower, 1 - j.levels[l]);
    EXPECT_GE(j.pairs[1].corners[0].chi[l].interval.upper, 1 - j.levels[l]);
  }
  EXPECT_NEAR(j.pairs[1].corners[0].chi_bar[0].value, 0, 0.1);
  EXPECT_LT(j.pairs[0].corners[2].chi_bar[0].value, 0) << "large with small: repelled";
}

TEST(JointExtremes, SharedMaximaComeTogetherOnlyAbove) {
  const JointExtremes j = diagnose_joint(shared_maxima(10000, 2));
  ASSERT_EQ(j.pairs.size(), 1u);
  const CornerExtremes &large = j.pairs[0].corners[0], &small = j.pairs[0].corners[1];
  EXPECT_EQ(large.verdict, JointVerdict::together) << large.eta.value;
  EXPECT_EQ(small.verdict, JointVerdict::alone) << small.eta.value;
  for (const JointFigure& chi : large.chi) {
    EXPECT_LT(chi.interval.lower, 0.55);
    EXPECT_GT(chi.interval.upper, 0.45);
  }
  EXPECT_EQ(j.groups, (std::vector<std::vector<int64_t>>{{0, 1}}));
  EXPECT_NE(j.sentence.find("Together: column 1, column 2"), std::string::npos) << j.sentence;
  // A column turned round moves the corner.
  at::Tensor turned = shared_maxima(10000, 2);
  turned.select(1, 1).neg_();
  EXPECT_EQ(diagnose_joint(turned).pairs[0].corners[2].chi[1].value, large.chi[1].value);
}

TEST(JointExtremes, StudentColumnsAreNotCalledAlone) {
  const StudentT law{.nu = 3, .location = {0, 0}, .root = {1, 0, 0.6, 0.8}};
  const JointExtremes j = diagnose_joint(law.sample(Key(3), 10000));
  for (const size_t corner : {0u, 1u}) EXPECT_NE(j.pairs[0].corners[corner].verdict, JointVerdict::alone);
  EXPECT_TRUE(j.any_together()) << j.pairs[0].corners[0].eta.value;
}

// sqrt(V) z with V exponential: eta is sqrt(1/2) for uncorrelated columns (doc/joint-extremes.md), between the normal
// law's 1/2 and a Student-t law's 1, and so in every corner. At finite levels it is less: 0.64 beyond 0.9, 0.70 beyond
// 0.99 (2,000,000 draws), so that the bounds are 4 standard errors around that way.
TEST(JointExtremes, TheLaplaceSourceIsBetweenAloneAndTogether) {
  constexpr int64_t n = 200000;
  at::Tensor rows = at::empty({n, 2}, at::kDouble);
  double* x = rows.mutable_data_ptr<double>();
  fill_normal(Key(6).child("normal"), 0, 2 * n, x);
  const Key clock = Key(6).child("clock");
  for (int64_t i = 0; i < 2 * n; ++i) x[i] *= std::sqrt(-std::log(clock.uniform(static_cast<uint64_t>(i / 2))));
  for (const double share : {0.1, 0.02}) {
    JointOptions options;
    options.tail_share = share;
    const JointExtremes j = diagnose_joint(rows, {}, options);
    EXPECT_FALSE(j.any_together());
    for (const CornerExtremes& c : j.pairs[0].corners) {
      const double error = c.eta.value / std::sqrt(static_cast<double>(c.exceedances));
      EXPECT_GT(c.eta.value, 0.63 - 4 * error) << share;
      EXPECT_LT(c.eta.value, std::sqrt(0.5) + 4 * error) << share;
      EXPECT_GT(c.eta.value, 0.55) << "a normal law has 1/2";
    }
  }
}

TEST(JointExtremes, TiesConstantsAndSmallSetsMakeNoExtremes) {
  at::Tensor rows = normal_rows(2000, 0, 4);
  rows.select(1, 0).fill_(7);
  rows.select(1, 1).clamp_(-1e9, 0);  // half of the column is one value
  const JointExtremes j = diagnose_joint(rows);
  ASSERT_EQ(j.pairs.size(), 1u) << "a constant column has no extremes";
  EXPECT_FALSE(j.any_together());
  EXPECT_TRUE(diagnose_joint(rows.narrow(0, 0, 50)).pairs.empty());
  EXPECT_TRUE(diagnose_joint(rows.narrow(1, 1, 1)).pairs.empty());
  EXPECT_THROW(diagnose_joint(rows, {"a"}), InputError);
  JointOptions few;
  few.most_pairs = 2;
  EXPECT_EQ(diagnose_joint(normal_rows(500, 0, 5), {}, few).pairs.size(), 2u);
}

}  // namespace
}  // namespace htfm
