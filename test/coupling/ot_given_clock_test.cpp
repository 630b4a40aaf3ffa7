// Transport given the clock (Theorem C.4): a group shares a clock, and inside it no exchange of two pairs is cheaper.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "htfm/method/flow_matching.h"

namespace htfm {
namespace {

TEST(OtGivenClock, PairsAtTheLeastCostWithinEachClock) {
  constexpr int64_t n = 300, group = 32, dim = 2;
  for (const double power : {1.0, 1.5, 2.0}) {
    FlowMatchingSpec spec;
    spec.clock = {"inverse-gamma", {{"nu", 3.0}}};
    spec.coupling.kind = "ot-given-clock", spec.coupling.group = group, spec.coupling.ot_power = power;
    FlowMatching flow(spec);
    at::Tensor data = at::empty({n, dim}, at::kFloat);
    fill_normal(Key(1), 0, n * dim, data.mutable_data_ptr<float>());
    flow.fit_to_data({data, {}, Key(2)});
    std::vector<int64_t> index(n);
    std::iota(index.begin(), index.end(), int64_t{0});
    RunningStandardiser standardiser(flow.feature().size());
    const PairPlan plan = flow.plan_pairs(Key(3), {data, index, 0}, standardiser);
    const at::Tensor points = plan.points();
    const double *x0 = points.const_data_ptr<double>(), *area = plan.source.area.const_data_ptr<double>();
    const float* x1 = data.const_data_ptr<float>();
    const auto cost = [&](int64_t i, int64_t j) {
      return std::pow(std::hypot(x1[i * dim] - x0[j * dim], x1[i * dim + 1] - x0[j * dim + 1]), power);
    };
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(area[i], area[i / group * group]);
      if (i >= group) {
        EXPECT_NE(area[i], area[i - group]);
      }
      for (int64_t j = i / group * group; j < std::min(n, (i / group + 1) * group); ++j)
        EXPECT_LE(cost(i, i) + cost(j, j), cost(i, j) + cost(j, i) + 1e-9) << i << " " << j;
    }
  }
}

// Given the clock the sources are still sqrt(2A) z: pairing only changes who meets whom.
TEST(OtGivenClock, KeepsTheSourceGivenTheClock) {
  constexpr int64_t n = 20000, group = 50;
  FlowMatchingSpec spec;
  spec.clock = {"inverse-gamma", {{"nu", 3.0}}};
  spec.coupling.kind = "ot-given-clock", spec.coupling.group = group;
  FlowMatching flow(spec);
  at::Tensor data = at::empty({n, 1}, at::kFloat);
  fill_normal(Key(1), 0, n, data.mutable_data_ptr<float>());
  flow.fit_to_data({data, {}, Key(2)});
  std::vector<int64_t> index(n);
  std::iota(index.begin(), index.end(), int64_t{0});
  RunningStandardiser standardiser(flow.feature().size());
  const PairPlan plan = flow.plan_pairs(Key(3), {data, index, 0}, standardiser);
  const at::Tensor points = plan.points();
  double mean = 0, square = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double z = points.const_data_ptr<double>()[i] / std::sqrt(2 * plan.source.area.const_data_ptr<double>()[i]);
    mean += z / n, square += z * z / n;
  }
  EXPECT_NEAR(mean, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(square, 1, 4 * std::sqrt(2.0 / n));
}

}  // namespace
}  // namespace htfm
