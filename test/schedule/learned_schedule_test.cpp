// Schedules whose coefficient curves are learned.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/method/flow_matching.h"

namespace htfm {
namespace {

ScheduleSpec learned(const std::string& name, const std::string& words = "1 ct tcc", int64_t degree = 5) {
  return {.name = name, .learn = true, .learn_words = words, .learn_degree = degree};
}

std::vector<double> normals(Key key, int64_t n, double scale) {
  std::vector<double> x(static_cast<size_t>(n));
  fill_normal(key, 0, n, x.data());
  for (double& v : x) v *= scale;
  return x;
}

// Runs over both forms, clocks that are lines and clocks that jump, and parameters of several sizes.
template <class Check>
void for_all(const std::vector<double>& sizes, const Check& check) {
  for (const char* name : {"near-linear", "time-warp"})
    for (const ClockSpec& spec : {ClockSpec{"inverse-gamma", {{"nu", 1.5}}}, ClockSpec{"stable", {{"alpha", 1.2}}}})
      for (const double size : sizes) {
        LearnedSchedule s(learned(name), std::string(name) == "time-warp");
        s.set(normals(Key(7).child(name), s.size(), size));
        const auto clock = make_clock(spec);
        const ScheduleFeature feature(*clock, s, true);
        const at::Tensor coordinates = feature(clock->sample(Key(5), {.count = 20, .paths = feature.needs_paths()}));
        for (int64_t i = 0; i < 20; ++i)
          check(s, ScheduleFeature::row(coordinates, i), fmt::format("{}, {}, size {}", name, spec.family, size));
      }
}

TEST(LearnedSchedule, StartsWithTheStraightLine) {
  const auto s = make_schedule(learned("near-linear"));
  const double coordinates[] = {0.3, 0.1};
  for (double t = 0; t <= 1; t += 0.125) {
    const Coefficients c = s->at(t, coordinates);
    EXPECT_EQ(c.alpha, t);
    EXPECT_EQ(c.beta, 1 - t);
    EXPECT_EQ(c.dalpha, 1);
    EXPECT_EQ(c.dbeta, -1);
  }
}

// Whatever the parameters: the control points of alpha ascend with steps of at least 0.05 / N, those of beta descend.
TEST(LearnedSchedule, IsAdmissibleByConstruction) {
  for_all({0.3, 3, 1e6}, [](const Schedule& s, std::span<const double> coordinates, const std::string& what) {
    const Coefficients first = s.at(0, coordinates), last = s.at(1, coordinates);
    EXPECT_EQ(first.alpha, 0) << what;
    EXPECT_EQ(first.beta, 1) << what;
    EXPECT_EQ(last.alpha, 1) << what;
    EXPECT_EQ(last.beta, 0) << what;
    for (double t = 0; t <= 1; t += 0.01) {
      const Coefficients c = s.at(t, coordinates);
      EXPECT_GT(c.dalpha, 0.05 - 1e-12) << what;
      EXPECT_LT(c.dbeta, -0.05 + 1e-12) << what;
      EXPECT_GE(c.beta, 0.05 * (1 - t) * (1 - 1e-9)) << what;  // beta is at least the integral of 0.05
    }
    for (const double ratio : {1e-6, 0.3, 1.0, 40.0, 1e7}) {
      const Coefficients c = s.at(s.time_of(ratio, coordinates), coordinates);
      EXPECT_NEAR(c.alpha / c.beta / ratio, 1, 1e-8) << what;  // near t = 1 the ratio moves by 1e-16 / (1-t)
    }
  });
}

TEST(LearnedSchedule, DerivativeEqualsFiniteDifference) {
  constexpr double h = 1e-5;
  for_all({0.5, 5}, [](const Schedule& s, std::span<const double> coordinates, const std::string& what) {
    for (double t = 0.03; t < 0.97; t += 0.07) {
      const Coefficients c = s.at(t, coordinates), up = s.at(t + h, coordinates), down = s.at(t - h, coordinates);
      EXPECT_NEAR(c.dalpha, (up.alpha - down.alpha) / (2 * h), 1e-7) << what;
      EXPECT_NEAR(c.dbeta, (up.beta - down.beta) / (2 * h), 1e-7) << what;
    }
  });
}

// The curves written out are those of the near-linear form with lambda_t = t.
TEST(LearnedSchedule, IsANearLinearSchedule) {
  for (const bool warp : {false, true}) {
    LearnedSchedule s(learned("near-linear"), warp);
    s.set(normals(Key(3), s.size(), 1));
    const auto fixed = make_schedule(warp ? ScheduleSpec{.name = "time-warp", .c = s.text(0)}
                                          : ScheduleSpec{.name = "near-linear", .a = s.text(0), .b = s.text(1)});
    ASSERT_EQ(fixed->words(), s.words());
    const double coordinates[] = {0.62, 0.07};
    for (double t = 0; t <= 1; t += 0.05) {
      const Coefficients a = s.at(t, coordinates), b = fixed->at(t, coordinates);
      EXPECT_NEAR(a.alpha, b.alpha, 1e-13);
      EXPECT_NEAR(a.beta, b.beta, 1e-13);
      EXPECT_NEAR(a.dalpha, b.dalpha, 1e-12);
      EXPECT_NEAR(a.dbeta, b.dbeta, 1e-12);
    }
  }
}

// log d(alpha/beta)/dt at the time of a given ratio.
double log_speed(const Schedule& s, double ratio, std::span<const double> coordinates) {
  const Coefficients c = s.at(s.time_of(ratio, coordinates), coordinates);
  return std::log((c.dalpha * c.beta - c.alpha * c.dbeta) / (c.beta * c.beta));
}

TEST(LearnedSchedule, SpeedGradientEqualsFiniteDifference) {
  constexpr double h = 1e-5;
  double worst = 0;
  for (const bool warp : {false, true}) {
    LearnedSchedule s(learned("near-linear", "ct 1 ccc", 4), warp);
    const std::vector<double> theta = normals(Key(11), s.size(), 0.7);
    const double coordinates[] = {0.71, 0.05};
    for (double t = 0.05; t < 0.96; t += 0.09) {
      s.set(theta);
      const Coefficients c = s.at(t, coordinates);
      std::vector<double> sums(theta.size(), 0.0);
      s.add_speed_gradient(1, t, coordinates, sums);
      const std::vector<double> gradient = s.in_parameters(sums);
      for (size_t k = 0; k < theta.size(); ++k) {
        std::vector<double> moved = theta;
        moved[k] += h, s.set(moved);
        const double up = log_speed(s, c.alpha / c.beta, coordinates);
        moved[k] -= 2 * h, s.set(moved);
        const double difference = (up - log_speed(s, c.alpha / c.beta, coordinates)) / (2 * h);
        worst = std::max(worst, std::abs(gradient[k] - difference));
        EXPECT_NEAR(gradient[k], difference, 1e-7)
            << "parameter " << k << " at " << t;  // h^2, and rounding of 1e-14 / h
      }
    }
  }
  RecordProperty("worst", fmt::format("{:.2g}", worst));
}

// Rows of a batch with clocks of their own and made-up errors.
struct Batch {
  PairPlan plan;
  std::vector<double> errors;
};
Batch made_up(const FlowMatching& flow, int64_t n) {
  Batch b;
  const ClockSample clocks = flow.clock().sample(Key(2), {.count = n, .paths = flow.needs_paths()});
  b.plan.source.area = clocks.area, b.plan.source.coordinates = flow.coordinates(clocks);
  b.plan.path_time.resize(static_cast<size_t>(n)), b.errors.resize(static_cast<size_t>(n));
  fill_uniform(Key(3), 0, n, b.plan.path_time.data());
  fill_uniform(Key(4), 0, n, b.errors.data());
  return b;
}

double turning(const FlowMatching& flow, const FlowMatching::Scales& s, double t) {
  const Coefficients c = flow.learned()->at(t, s.coordinates);
  const double r = s.data / s.source;
  return r * (c.dalpha * c.beta - c.alpha * c.dbeta) / (c.beta * c.beta + r * r * c.alpha * c.alpha);
}

TEST(LearnedSchedule, CurveLossHasItsGradient) {
  constexpr int64_t n = 200;
  constexpr double h = 1e-5;
  for (const char* name : {"near-linear", "time-warp"}) {
    FlowMatchingSpec spec;
    spec.clock = {"stable", {{"alpha", 1.6}}}, spec.schedule = learned(name);
    FlowMatching flow(spec, DataScale(1.3));
    const std::vector<double> theta = normals(Key(13), flow.learned()->size(), 0.5);
    flow.learned_schedule()->set(theta);
    const Batch batch = made_up(flow, n);
    std::vector<double> gradient;
    const double value = flow.curve_loss(batch.plan, batch.errors, gradient);
    std::vector<double> angle(n), before(n);
    std::vector<FlowMatching::Scales> scales;
    for (int64_t i = 0; i < n; ++i) {
      scales.push_back(flow.scales(batch.plan.source.area.const_data_ptr<double>()[i],
                                   ScheduleFeature::row(batch.plan.source.coordinates, i)));
      const Coefficients c = flow.learned()->at(batch.plan.path_time[i], scales[i].coordinates);
      angle[i] = std::atan(scales[i].data / scales[i].source * c.alpha / c.beta);
      before[i] = turning(flow, scales[i], batch.plan.path_time[i]);
    }
    // The mean of error * turning before * turning now, at the same angles.
    const auto loss = [&](const std::vector<double>& at) {
      flow.learned_schedule()->set(at);
      double sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += batch.errors[i] * before[i] * turning(flow, scales[i], flow.time_at(angle[i], scales[i]));
      return std::log(sum / static_cast<double>(n));
    };
    EXPECT_NEAR(loss(theta), value, 1e-9);
    for (size_t k = 0; k < theta.size(); ++k) {
      std::vector<double> up = theta, down = theta;
      up[k] += h, down[k] -= h;
      EXPECT_NEAR(gradient[k], (loss(up) - loss(down)) / (2 * h), 1e-6) << name << ", parameter " << k;
    }
  }
}

// Equal errors at every angle ask for angles that are drawn uniformly: the integral of (d angle/dt)^2 falls from 1 +
// pi/2 (straight line, equal scales) towards its least value (pi/2)^2.
TEST(LearnedSchedule, EqualErrorsMakeTheAngleUniform) {
  FlowMatchingSpec spec;
  spec.clock = {"deterministic", {}}, spec.schedule = learned("time-warp", "1", 4);
  FlowMatching flow(spec, DataScale(1));
  constexpr int64_t n = 400;
  Batch b = made_up(flow, n);
  for (int64_t i = 0; i < n; ++i) b.plan.path_time[i] = (static_cast<double>(i) + 0.5) / n, b.errors[i] = 1;
  std::vector<double> theta(static_cast<size_t>(flow.learned()->size()), 0.0), gradient;
  const double least = M_PI * M_PI / 4, first = std::exp(flow.curve_loss(b.plan, b.errors, gradient));
  EXPECT_NEAR(first, 1 + M_PI / 2, 1e-4);  // the midpoint rule
  for (int round = 0; round < 300; ++round) {
    flow.curve_loss(b.plan, b.errors, gradient);
    for (size_t k = 0; k < theta.size(); ++k) theta[k] -= 10 * gradient[k];
    flow.learned_schedule()->set(theta);
  }
  const double last = std::exp(flow.curve_loss(b.plan, b.errors, gradient));
  EXPECT_GT(last, least - 1e-4);
  EXPECT_LT(last - least, 0.1 * (first - least));
}

TEST(LearnedSchedule, RefusesWhatItCannotKeepAdmissible) {
  const auto refused = [](ScheduleSpec s, const std::string& key) {
    s.learn = true;
    try {
      make_schedule(s);
      FAIL() << key;
    } catch (const InputError& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("[" + key + "]")) << e.what();
    }
  };
  refused({.name = "ve-signature"}, "path.learn");
  refused({.name = "vp"}, "path.learn");
  refused({.name = "time-warp", .coordinates = "raw"}, "path.learn");
  refused({.name = "near-linear", .a = "ct: 0.1"}, "path.a");
  refused({.name = "near-linear", .lambda = "0 0 1"}, "path.lambda");
  refused({.name = "near-linear", .learn_words = "1 xt"}, "path.learn_words");
  refused({.name = "near-linear", .learn_words = "ct ct"}, "path.learn_words");
  refused({.name = "near-linear", .learn_degree = 1}, "path.learn_degree");
  FlowMatchingSpec spec;
  spec.clock = {"stable", {{"alpha", 1.6}}}, spec.schedule = learned("time-warp");
  spec.precondition = false;
  EXPECT_THROW(FlowMatching{spec}, InputError);
  spec.precondition = true, spec.clock_time = true;
  EXPECT_THROW(FlowMatching{spec}, InputError);
}

}  // namespace
}  // namespace htfm
