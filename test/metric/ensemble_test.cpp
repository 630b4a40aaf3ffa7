// Scores of ensembles.
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/metric/ensemble_scores.h"

namespace htfm {
namespace {

TEST(EnsembleScores, OneMemberScoresItsAbsoluteError) {
  const EnsembleScores s = ensemble_scores(at::tensor({1.0, 5.0}).view({1, 1, 2}), at::tensor({0.0, 3.0}).view({1, 2}));
  EXPECT_DOUBLE_EQ(s.crps, 1.5);
  EXPECT_DOUBLE_EQ(s.error, std::sqrt(2.5));
  EXPECT_EQ(s.spread, 0);
}

TEST(EnsembleScores, TwoMembersByHand) {
  // Members 0 and 2, truth 3: |0 - 3| and |2 - 3| have mean 2; two members are 2 apart, half of which is taken off.
  const EnsembleScores s = ensemble_scores(at::tensor({0.0, 2.0}).view({1, 2, 1}), at::tensor({3.0}).view({1, 1}));
  EXPECT_DOUBLE_EQ(s.crps, 1);
  EXPECT_DOUBLE_EQ(s.error, 2);
  EXPECT_DOUBLE_EQ(s.spread, std::sqrt(2.0));
}

TEST(EnsembleScores, ALawAgainstItselfSpreadsAsItErrs) {
  // Standard normal: CRPS is 1 / sqrt(pi); its deviation over cases is about 0.45, that of squares sqrt(2).
  constexpr int64_t kCases = 20000, kMembers = 8;
  at::Tensor x = at::empty({kCases, kMembers, 1}, at::kDouble), y = at::empty({kCases, 1}, at::kDouble);
  fill_normal(Key(1), 0, x.numel(), x.mutable_data_ptr<double>());
  fill_normal(Key(2), 0, y.numel(), y.mutable_data_ptr<double>());
  const EnsembleScores s = ensemble_scores(x, y);
  EXPECT_NEAR(s.crps, 1 / std::sqrt(M_PI), 4 * 0.5 / std::sqrt(kCases));
  EXPECT_NEAR(s.spread_skill, 1, 4 / std::sqrt(kCases));
}

TEST(EnsembleScores, RefusesShapesThatDoNotFit) {
  EXPECT_THROW(ensemble_scores(at::empty({2, 3, 4}), at::empty({2, 3})), InputError);
}

}  // namespace
}  // namespace htfm
