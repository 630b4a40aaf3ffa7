// Proposition of section 3.1 (pathwise equivalence of the conditional and the marginal loss), with Gaussian data, for
// which the marginal velocity given the clock has a closed form.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "htfm/method/flow_matching.h"

namespace htfm {
namespace {

constexpr double kMean = 0.7, kDataDeviation = 1.3;

// E[x_1 - x_0 | x_t = x, T] for x_1 ~ N(mean, deviation^2) and x_0 ~ N(0, 2A).
double marginal_velocity(double t, double x, double area) {
  const double data = kDataDeviation * kDataDeviation, source = 2 * area,
               variance = t * t * data + (1 - t) * (1 - t) * source;
  return kMean + (t * data - (1 - t) * source) / variance * (x - t * kMean);
}

// The conditional target differs from the marginal velocity by what no function of state, time and clock can see. So
// for every such function the two losses differ by the same constant, and their gradients are equal.
TEST(Proposition, TheTargetsErrorIsOrthogonalToWhatTheNetworkSees) {
  constexpr int64_t n = 200000;
  for (const auto& [family, name, value] :
       {std::tuple{"deterministic", "", 0.0}, {"stable", "alpha", 1.8}, {"inverse-gamma", "nu", 3.0}}) {
    FlowMatchingSpec spec;
    spec.clock.family = family;
    if (*name) spec.clock.parameters[name] = value;
    spec.precondition = false;
    FlowMatching flow(spec);
    at::Tensor data = at::empty({n, 1}, at::kFloat);
    fill_normal(Key(1), 0, n, data.mutable_data_ptr<float>());
    for (int64_t i = 0; i < n; ++i)
      data.mutable_data_ptr<float>()[i] = static_cast<float>(kMean + kDataDeviation * data.const_data_ptr<float>()[i]);
    flow.fit_to_data({data, {}, Key(2)});
    std::vector<int64_t> index(n);
    std::iota(index.begin(), index.end(), int64_t{0});
    RunningStandardiser standardiser(flow.feature().size());
    const PairPlan plan = flow.plan_pairs(Key(3), {data, index, 0}, standardiser);
    const TrainingPairs pairs = Method::pairs(plan);
    const float *x = pairs.x.const_data_ptr<float>(), *t = pairs.t.const_data_ptr<float>(),
                *u = pairs.target.const_data_ptr<float>();
    const double* area = plan.source.area.const_data_ptr<double>();
    const auto functions = {+[](double, double, double) { return 1.0; },
                            +[](double s, double, double) { return std::tanh(s); },
                            +[](double s, double time, double) { return time * std::sin(2 * s); },
                            +[](double s, double, double scale) { return std::cos(s / scale); }};
    for (const auto& function : functions) {
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < n; ++i) {
        // In units of the clock's scale, so that the mean exists for every clock.
        const double scale = std::sqrt(kDataDeviation * kDataDeviation + 2 * area[i]);
        const double error = (u[i] - marginal_velocity(t[i], x[i], area[i])) / scale * function(x[i], t[i], scale);
        sum += error, squares += error * error;
      }
      const double mean = sum / n, standard_error = std::sqrt(squares / n / n);
      EXPECT_NEAR(mean, 0, 4 * standard_error) << family;
      EXPECT_LT(standard_error, 0.01) << family;
    }
  }
}

}  // namespace
}  // namespace htfm
