// Schedules that depend on the realised clock.
#include "htfm/schedule/clock_schedule.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/method/flow_matching.h"
#include "htfm/schedule/time_polynomial.h"
#include "test/schedule/affine_target.h"

namespace htfm {
namespace {

const std::vector<ClockSpec>& clocks() {
  static const std::vector<ClockSpec> list{{"deterministic", {}},
                                           {"inverse-gamma", {{"nu", 1.5}}},
                                           {"gamma", {{"shape", 2.0}}},
                                           {"stable", {{"alpha", 1.2}}},
                                           {"tempered-stable", {{"alpha", 1.5}, {"tempering", 1.0}}},
                                           {"compound-poisson", {{"drift", 0.1}, {"rate", 3.0}, {"jump_tail", 1.0}}}};
  return list;
}

struct Named {
  std::string name;
  ScheduleSpec spec;
};
std::vector<Named> named_schedules() {
  std::vector<Named> out;
  const auto add = [&](std::string name, const std::function<void(ScheduleSpec&)>& change) {
    ScheduleSpec spec;
    change(spec);
    out.push_back({std::move(name), spec});
  };
  for (const char* name : {"ve-signature", "signature-linear", "near-linear", "time-warp"})
    add(name, [&](auto& s) { s.name = name; });
  add("ve-signature, strong", [](auto& s) { s.name = "ve-signature", s.lambda_alpha = -0.7, s.lambda_beta = 0.95; });
  add("near-linear of order 3", [](auto& s) {
    s.name = "near-linear", s.lambda = "0 1 -0.5";
    s.a = "ctc: 0.3 0.2; cct: -0.1 0 0.4", s.b = "ct: 0.2 -0.3; ttc: 0.5";
  });
  add("direct, of order 3", [](auto& s) {
    s.name = "signature-linear";
    s.a = "1: 0 0.5 0.5; cct: 0 0.2 -0.2", s.b = "1: 1 -1; tcc: 0 0 0.4 -0.4";
  });
  add("warp in time", [](auto& s) { s.name = "time-warp", s.lambda = "0 0 1", s.c = "ct: 0.3 -0.4; 1: 0.1"; });
  return out;
}

// coordinates of some clocks of a family.
at::Tensor eta_of(const Clock& clock, const Schedule& schedule, int64_t n, bool rising = true) {
  const ScheduleFeature feature(clock, schedule, rising);
  return feature(clock.sample(Key(5), {.count = n, .paths = feature.needs_paths()}));
}

template <class Check>
void for_all(int64_t n, const Check& check) {
  for (const Named& s : named_schedules())
    for (const ClockSpec& spec : clocks()) {
      const auto schedule = make_schedule(s.spec);
      const auto clock = make_clock(spec);
      const at::Tensor coordinates = eta_of(*clock, *schedule, n);
      for (int64_t i = 0; i < n; ++i)
        check(*schedule, ScheduleFeature::row(coordinates, i), s.name + " with " + spec.family);
    }
}

TEST(ClockSchedule, EndpointsAreExact) {
  for_all(50, [](const Schedule& s, std::span<const double> coordinates, const std::string& what) {
    const Coefficients a = s.at(0, coordinates), b = s.at(1, coordinates);
    EXPECT_EQ(a.alpha, 0) << what;
    EXPECT_EQ(a.beta, 1) << what;
    EXPECT_EQ(b.alpha, 1) << what;
    EXPECT_EQ(b.beta, 0) << what;
    for (double t = 0; t < 1; t += 0.01) EXPECT_GT(s.at(t, coordinates).beta, 0) << what << " at " << t;
  });
}

// Central differences: h^2 times a third derivative of order 1, and rounding of 1e-16 / h.
TEST(ClockSchedule, DerivativeEqualsFiniteDifference) {
  constexpr double h = 1e-5;
  double worst = 0;
  for_all(20, [&](const Schedule& s, std::span<const double> coordinates, const std::string& what) {
    for (double t = 0.01; t < 0.99; t += 0.0173) {
      const Coefficients c = s.at(t, coordinates), up = s.at(t + h, coordinates), down = s.at(t - h, coordinates);
      const double a = std::abs(c.dalpha - (up.alpha - down.alpha) / (2 * h)),
                   b = std::abs(c.dbeta - (up.beta - down.beta) / (2 * h));
      worst = std::max({worst, a, b});
      EXPECT_LT(std::max(a, b), 1e-6) << what << " at " << t;
    }
  });
  RecordProperty("worst", fmt::format("{:.2g}", worst));
}

// The general formula (eq. clock-affine-target) is the derivative of the path.
TEST(ClockSchedule, TargetEqualsTheGeneralFormula) {
  const double x0 = -1.7, x1 = 0.4;
  for_all(20, [&](const Schedule& s, std::span<const double> coordinates, const std::string& what) {
    for (double t = 0.05; t < 0.95; t += 0.09) {
      const Coefficients c = s.at(t, coordinates);
      EXPECT_NEAR(test::affine_target(c, c.alpha * x1 + c.beta * x0, x1), c.dalpha * x1 + c.dbeta * x0, 1e-12 / c.beta)
          << what;
    }
  });
}

TEST(ClockSchedule, TheTimeWarpKeepsTheStraightLineAndHasItsTarget) {
  const auto s = make_schedule({.name = "time-warp"});
  const auto clock = make_clock({"stable", {{"alpha", 1.3}}});
  const at::Tensor coordinates = eta_of(*clock, *s, 50);
  for (int64_t i = 0; i < 50; ++i)
    for (double t = 0.03; t < 1; t += 0.09) {
      const Coefficients c = s->at(t, ScheduleFeature::row(coordinates, i));
      EXPECT_NEAR(c.alpha + c.beta, 1, 1e-15);
      EXPECT_NEAR(c.dalpha + c.dbeta, 0, 1e-15);
      // v = gamma' / (1 - gamma) (x_1 - x), eq. near-linear-warp-target.
      EXPECT_NEAR(test::affine_target(c, 2.0, 5.0), c.dalpha / (1 - c.alpha) * 3, 1e-12 / c.beta);
    }
}

// R = 2 int T / T_1 - 1 by the trapezoidal rule, which is the area of the linear path.
TEST(ClockSchedule, TheShapeScoreIsTheAreaAndVanishesForALine) {
  const auto s = make_schedule({.name = "ve-signature"});
  for (const ClockSpec& spec : clocks()) {
    const auto clock = make_clock(spec);
    const ScheduleFeature feature(*clock, *s, true);
    const ClockSample drawn = clock->sample(Key(8), {.count = 2000, .paths = true});
    const at::Tensor coordinates = feature(drawn);
    const bool line = clock->natural_feature() != NaturalFeature::path;
    double low = 1, high = -1;
    for (int64_t i = 0; i < 2000; ++i) {
      const double r = clock_shape(ScheduleFeature::row(coordinates, i));
      EXPECT_LE(std::abs(r), 1) << spec.family;
      if (line) {
        EXPECT_EQ(r, 0) << spec.family;
      }
      const double* path = drawn.paths.const_data_ptr<double>() + i * drawn.paths.size(1);
      const int64_t steps = drawn.paths.size(1) - 1;
      double area = 0;
      for (int64_t k = 0; k < steps; ++k) area += (path[k] + path[k + 1]) / 2 / static_cast<double>(steps);
      EXPECT_NEAR(r, 2 * area / path[steps] - 1, 1e-12) << spec.family;
      low = std::min(low, r), high = std::max(high, r);
    }
    if (!line) {
      EXPECT_TRUE(low < -0.5 && high > 0.5) << spec.family;
    }
  }
}

// The signature that is walked along a straight path is the closed one that lines are given.
TEST(ClockSchedule, LinesHaveTheSignatureOfAStraightPath) {
  ScheduleSpec spec;
  spec.name = "near-linear", spec.a = "ctt: 0.1; c: 0.05; cc: 0.01", spec.b = "tcc: 0.1", spec.coordinates = "raw";
  const auto s = make_schedule(spec);
  const auto clock = make_clock({"inverse-gamma", {{"nu", 3.0}}});
  const ScheduleFeature feature(*clock, *s, false);
  const ClockSample drawn = clock->sample(Key(8), {.count = 10, .paths = true});
  PathOptions options;
  options.augment_time = true;
  const at::Tensor coordinates = feature(drawn), all = signature(drawn.paths, 3, options);
  const int64_t place[] = {6 + 4, 1, 2 + 3, 6 + 3};  // ctt, c, cc, tcc
  for (int64_t i = 0; i < 10; ++i)
    for (size_t k = 0; k < 4; ++k) {
      const double walked = all.const_data_ptr<double>()[i * 14 + place[k]];
      EXPECT_NEAR(ScheduleFeature::row(coordinates, i)[k], walked, 1e-12 * std::abs(walked));
    }
}

TEST(ClockSchedule, WithoutLambdaItIsTheStraightLineBitForBit) {
  const auto line = make_schedule({.name = "straight"});
  const auto s = make_schedule({.name = "ve-signature", .lambda_alpha = 0, .lambda_beta = 0});
  const auto clock = make_clock({"stable", {{"alpha", 1.5}}});
  const at::Tensor coordinates = eta_of(*clock, *s, 20);
  for (int64_t i = 0; i < 20; ++i)
    for (double t = 0; t <= 1; t += 0.0037) {
      const Coefficients a = line->at(t), b = s->at(t, ScheduleFeature::row(coordinates, i));
      EXPECT_TRUE(a.alpha == b.alpha && a.beta == b.beta && a.dalpha == b.dalpha && a.dbeta == b.dbeta) << t;
      EXPECT_EQ(line->time_of(t / (1.001 - t)), s->time_of(t / (1.001 - t), ScheduleFeature::row(coordinates, i)));
    }
}

// The direct form with the curves a_VE, b_VE, and the near-linear one with lambda_t = t, are the VE-type schedule.
TEST(ClockSchedule, DefaultCurvesGiveTheVeTypeSchedule) {
  const auto ve = make_schedule({.name = "ve-signature"});
  const auto clock = make_clock({"stable", {{"alpha", 1.5}}});
  for (const char* name : {"signature-linear", "near-linear"}) {
    const auto s = make_schedule({.name = name});
    ASSERT_EQ(s->words(), ve->words());
    const at::Tensor coordinates = eta_of(*clock, *s, 20);
    for (int64_t i = 0; i < 20; ++i)
      for (double t = 0; t <= 1; t += 0.037) {
        const Coefficients a = ve->at(t, ScheduleFeature::row(coordinates, i)),
                           b = s->at(t, ScheduleFeature::row(coordinates, i));
        EXPECT_NEAR(a.alpha, b.alpha, 1e-15);
        EXPECT_NEAR(a.beta, b.beta, 1e-15);
        EXPECT_NEAR(a.dalpha, b.dalpha, 1e-15);
        EXPECT_NEAR(a.dbeta, b.dbeta, 1e-15);
      }
  }
}

TEST(ClockSchedule, TimeOfIsTheInverseOfTheRatio) {
  for_all(10, [](const Schedule& s, std::span<const double> coordinates, const std::string& what) {
    EXPECT_EQ(s.time_of(0, coordinates), 0) << what;
    EXPECT_EQ(s.time_of(HUGE_VAL, coordinates), 1) << what;
    for (double t = 0.01; t < 1; t += 0.07) {
      const Coefficients c = s.at(t, coordinates);
      EXPECT_NEAR(s.time_of(c.alpha / c.beta, coordinates), t, 1e-12) << what << " at " << t;
    }
  });
}

std::string refusal(const ScheduleSpec& spec, const ClockSpec& clock_spec = {"stable", {{"alpha", 1.2}}},
                    bool rising = false) {
  try {
    const auto schedule = make_schedule(spec);
    const auto clock = make_clock(clock_spec);
    eta_of(*clock, *schedule, 500, rising);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(ClockSchedule, PathsThatAreNotAdmissibleAreRefusedWithTheirClock) {
  // 1 - 3 t ct turns negative for clocks that go early.
  std::string text = refusal({.name = "near-linear", .b = "ct: -3"});
  EXPECT_NE(text.find("[path.schedule] expected beta_t / (1-t) > 0"), std::string::npos) << text;
  EXPECT_NE(text.find("clock with T_1 = "), std::string::npos) << text;
  EXPECT_NE(text.find("ct = "), std::string::npos) << text;
  EXPECT_EQ(refusal({.name = "near-linear", .b = "ct: -0.9"}), "");
  // alpha goes back, which is admissible, but not with the preconditioning.
  const ScheduleSpec back{.name = "near-linear", .a = "1: -4", .b = "1: 0"};
  EXPECT_EQ(refusal(back), "");
  EXPECT_NE(refusal(back, {"deterministic", {}}, true).find("precondition.enabled"), std::string::npos);
  EXPECT_NE(
      refusal({.name = "near-linear", .a = "ct: -4", .b = "1: 0"}, {"stable", {{"alpha", 1.2}}}, true).find("T_1 = "),
      std::string::npos);
  // Direct form: endpoints that some clock would miss.
  EXPECT_NE(refusal({.name = "signature-linear", .a = "1: 0 1; ct: 0 1"}).find("[path.a]"), std::string::npos);
  EXPECT_NE(refusal({.name = "signature-linear", .b = "1: 1 -0.5"}).find("[path.b]"), std::string::npos);
  EXPECT_NE(refusal({.name = "near-linear", .lambda = "0.1 1"}).find("[path.lambda]"), std::string::npos);
  EXPECT_NE(refusal({.name = "near-linear", .a = "ctx: 1"}).find("[path.a]"), std::string::npos);
  EXPECT_NE(refusal({.name = "near-linear", .a = "ct 1"}).find("[path.a]"), std::string::npos);
  EXPECT_NE(refusal({.name = "near-linear", .a = "ct: one"}).find("[path.a]"), std::string::npos);
  EXPECT_NE(refusal({.name = "near-linear", .a = "ct: 1; ct: 2"}).find("[path.a]"), std::string::npos);
  EXPECT_NE(refusal({.name = "ve-signature", .lambda_beta = 1}).find("[path.lambda_beta]"), std::string::npos);
  EXPECT_NE(refusal({.name = "time-warp", .coordinates = "polar"}).find("[path.coordinates]"), std::string::npos);
}

// Signs of polynomials that are known: products of their roots.
TEST(TimePolynomial, PositiveWhereItIs) {
  const auto root = [](double at) { return TimePolynomial({-at, 1}); };
  EXPECT_FALSE(not_positive(root(-0.1), {}));
  EXPECT_FALSE(not_positive(root(0), {.at_0 = true}));
  EXPECT_TRUE(not_positive(root(0), {}));
  EXPECT_TRUE(not_positive(root(0.3), {}));
  EXPECT_FALSE(not_positive(-1.0 * root(1), {.at_1 = true}));
  // (t - 0.5)^2 + e is positive for any e > 0 and not for e < 0.
  for (const double e : {1e-2, 1e-6, 1e-9}) {
    EXPECT_FALSE(not_positive(root(0.5) * root(0.5) + TimePolynomial({e}), {})) << e;
    const auto t = not_positive(root(0.37) * root(0.37) + TimePolynomial({-e}), {});
    ASSERT_TRUE(t) << e;
    EXPECT_NEAR(*t, 0.37, 1.1 * std::sqrt(e) + 1e-9) << e;
  }
}

// Pairs of a batch undone give the path of each row's own clock, and the rows keep their clocks under every coupling.
TEST(FlowMatching, PairsFollowTheClocksOwnSchedule) {
  at::Tensor data = at::empty({256, 2}, at::kFloat);
  fill_normal(Key(3), 0, 512, data.mutable_data_ptr<float>());
  std::vector<int64_t> index(256);
  std::iota(index.begin(), index.end(), 0);
  for (const char* coupling : {"independent", "clock", "pool", "ot"})
    for (const bool precondition : {true, false}) {
      FlowMatchingSpec spec;
      spec.clock = {"stable", {{"alpha", 1.6}}};
      spec.schedule.name = "ve-signature";
      spec.coupling.kind = coupling;
      spec.coupling.pool = 4096;
      spec.precondition = precondition;
      FlowMatching flow(spec, DataScale(1.2));
      flow.fit_to_data({data, {}, Key(2)});
      RunningStandardiser standardiser(flow.feature().size());
      const PairPlan plan = flow.plan_pairs(Key(9), {data, index, 0}, standardiser);
      ASSERT_TRUE(plan.source.coordinates.defined());
      const double* area = plan.source.area.const_data_ptr<double>();
      bool bent = false;
      for (int64_t i = 0; i < 256; ++i) {
        const auto coordinates = ScheduleFeature::row(plan.source.coordinates, i);
        const double t = plan.rows[i].time, r = clock_shape(coordinates);
        const Scaling k = flow.scaling(t, flow.scales(area[i], coordinates));
        const PairCoefficients& row = plan.rows[i];
        const double alpha = t + t * (1 - t) * r / 4, beta = (1 - t) * (1 + t * r / 4);
        EXPECT_NEAR(row.data_in / k.in, alpha, 1e-12);
        EXPECT_NEAR(row.source_in / k.in, beta, 1e-12);
        EXPECT_NEAR(k.out * row.data_target + k.skip * alpha, 1 + (1 - 2 * t) * r / 4, 1e-9);
        EXPECT_NEAR(k.out * row.source_target + k.skip * beta, -1 + (1 - 2 * t) * r / 4, 1e-9);
        bent = bent || std::abs(r) > 0.3;
      }
      EXPECT_TRUE(bent);
    }
}

}  // namespace
}  // namespace htfm
