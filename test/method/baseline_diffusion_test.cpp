// Diffusion under a clock: moments of the forward dynamics, pairs, and samplers for Gaussian data, whose score is
// known.
#include <fmt/ranges.h>

#include "htfm/base/error.h"
#include "htfm/method/forward_dynamics.h"
#include "test/method/baseline_support.h"
#include "test/statistics.h"

namespace htfm {
namespace {

constexpr double kTargetDeviation = 1.3, kCentre[2] = {0.8, -0.5};
constexpr int64_t kTargetRows = 4096;

const std::vector<ClockSpec>& clocks() {
  static const std::vector<ClockSpec> list{
      {"deterministic", {}}, {"inverse-gamma", {{"nu", 3.0}}}, {"stable", {{"alpha", 1.6}}}};
  return list;
}

std::unique_ptr<Method> diffusion(const ClockSpec& clock, const DiffusionOptions& o = {}, double data_scale = 1) {
  FlowMatchingSpec spec;
  spec.clock = clock;
  MethodOptions options;
  options.diffusion = o;
  auto method = make_method("clock-diffusion", spec, options, DataScale(data_scale));
  at::Tensor centre = at::empty({1, 2}, at::kFloat);
  for (int k = 0; k < 2; ++k) centre.mutable_data_ptr<float>()[k] = static_cast<float>(kCentre[k]);
  method->fit_to_data({centre, {}, Key(0)});
  return method;
}

// The best network for data N(centre, deviation^2): the denoised mean is linear in x. `s`: the method's data scale.
std::vector<double> gaussian_samples(const Method& method, const std::string& sampler, int64_t nfe, double s) {
  std::vector<double> x(2 * kTargetRows), area(kTargetRows);
  const Velocity network = [&](const double* in, const double* t, double* out) {
    for (int64_t i = 0; i < kTargetRows; ++i) {
      const double angle = t[i] * M_PI / 2, ratio = s / std::tan(angle) * (s / std::tan(angle)),
                   norm = std::sqrt(s * s + ratio);
      const double gain = kTargetDeviation * kTargetDeviation / (kTargetDeviation * kTargetDeviation + ratio),
                   skip = s * s / (norm * norm);
      for (int64_t k = 2 * i; k < 2 * i + 2; ++k) {
        const double at = in[k] * norm, denoised = kCentre[k % 2] + gain * (at - kCentre[k % 2]);
        out[k] = (denoised - skip * at) * norm / (s * std::sqrt(ratio));
      }
    }
  };
  HostStates states(network, kTargetRows, 2, x.data());
  const SolverRun run = find_named(method.samplers(), sampler, "sampler").run(states, {Key(3), 0, nfe, area.data()});
  EXPECT_EQ(run.evaluations, nfe);
  return x;
}

double law_error(const std::vector<double>& samples) {
  std::vector<double> z;
  for (size_t k = 0; k < samples.size(); ++k) z.push_back((samples[k] - kCentre[k % 2]) / kTargetDeviation);
  return test::kolmogorov_smirnov(z, test::normal_cdf) / std::sqrt(static_cast<double>(z.size()));
}
const double kTargetFloor = test::kKolmogorovBound / std::sqrt(2.0 * kTargetRows);

// Q_t by a fine sum of (m_t / m_s)^2 G_s^2 dT_s, written from the definitions; T linear between the grid's points.
TEST(ForwardDynamics, MomentsAreTheIntegralsOverTheClock) {
  const auto clock = make_clock({"stable", {{"alpha", 1.4}}, 20});
  const at::Tensor paths = clock->sample(Key(4), {.count = 5}).paths;
  for (const char* kind : {"vp", "ve"}) {
    DiffusionOptions o;
    o.dynamics = kind;
    const double unit = 1.7;
    const ForwardDynamics dynamics(o, unit);
    const auto mean = [&](double t) { return kind[1] == 'e' ? 1 : std::exp(-0.5 * (0.1 * t + 19.9 * t * t / 2)); };
    const auto square = [&](double t) {
      return unit * unit * (kind[1] == 'e' ? 2 * std::log(5000) * 1e-4 * std::pow(5000, 2 * t) : 0.1 + 19.9 * t);
    };
    for (int64_t i = 0; i < 5; ++i) {
      const std::span<const double> path(paths.const_data_ptr<double>() + i * 21, 21);
      const ClockMoments moments(dynamics, dynamics.weights(20), path);
      EXPECT_EQ(moments.ratio(0), 0);
      for (const double t : {0.05, 0.33, 0.5, 0.875, 1.0}) {
        double q = 0;
        const int fine = 40000;
        for (int k = 0; k < fine; ++k) {
          const double s = (k + 0.5) / fine * t;
          const auto cell = static_cast<size_t>(s * 20);
          q += mean(t) / mean(s) * (mean(t) / mean(s)) * square(s) * (path[cell + 1] - path[cell]) * 20 * t / fine;
        }
        EXPECT_NEAR(moments.mean(t), mean(t), 1e-12);
        EXPECT_NEAR(moments.variance(t), q, 1e-3 * q) << kind << " " << t;
      }
    }
  }
}

// With T_t = t the vp dynamics keep the variance of data with the scale's deviation.
TEST(ForwardDynamics, VariancePreserving) {
  const ForwardDynamics dynamics({}, 2.0);
  const std::vector<double> line{0, 1};
  const ClockMoments moments(dynamics, dynamics.weights(1), line);
  for (double t = 0; t <= 1; t += 0.05)
    EXPECT_NEAR(moments.mean(t) * moments.mean(t) * 4 + moments.variance(t), 4, 1e-10);
}

// Input and target of the pairs have unit second moments and are uncorrelated for data of the scale; and undone they
// are x_t / m_t and x_0.
TEST(ClockDiffusion, PairsAreWhite) {
  at::Tensor data = at::empty({2000, 2}, at::kFloat);
  fill_normal(Key(3), 0, 4000, data.mutable_data_ptr<float>());
  for (const ClockSpec& clock : clocks()) {
    const auto method = diffusion(clock);
    RunningStandardiser standardiser(method->feature().size());
    const PairPlan plan = method->plan_pairs(Key(9), {data, {}, 0}, standardiser);
    double least = 1, most = 0;
    for (const PairCoefficients& r : plan.rows) {
      EXPECT_NEAR(r.data_in * r.data_in + r.source_in * r.source_in, 1, 1e-12);
      EXPECT_NEAR(r.data_target * r.data_target + r.source_target * r.source_target, 1, 1e-12);
      EXPECT_NEAR(r.data_in * r.data_target + r.source_in * r.source_target, 0, 1e-12);
      EXPECT_NEAR(std::tan(r.time * M_PI / 2) * r.source_in, r.data_in, 1e-9);
      least = std::min(least, r.time), most = std::max(most, r.time);
    }
    EXPECT_TRUE(least < 0.02 && most > 0.95) << clock.family << " " << least << " " << most;
    EXPECT_EQ(plan.feature.defined(), method->feature().size() > 0);
  }
}

// Each sampler returns the data's law, and its error falls with the number of steps down to what so many samples can
// tell. On the same physical times for all clocks, and with a data scale that is not the data's: nothing is exact by
// luck.
TEST(ClockDiffusion, SamplersReturnGaussianData) {
  DiffusionOptions o;
  o.grid = "time";
  for (const char* dynamics : {"vp", "ve"})
    for (const ClockSpec& clock : clocks())
      for (const char* sampler : {"mixed", "mixed-flow", "kernel", "sde", "flow"}) {
        const bool local = sampler[0] == 's' || sampler[0] == 'f';
        if (local && clock.family == "stable") continue;
        o.dynamics = dynamics;
        const auto method = diffusion(clock, o, 1.0);
        std::vector<double> error;
        for (const int64_t nfe : {8, 32, 128}) error.push_back(law_error(gaussian_samples(*method, sampler, nfe, 1.0)));
        RecordProperty(fmt::format("{}_{}_{}", dynamics, clock.family, sampler),
                       fmt::format("{:.4f}", fmt::join(error, " ")));
        EXPECT_LT(error[2], kTargetFloor) << dynamics << " " << clock.family << " " << sampler;
        for (size_t k = 1; k < 3; ++k)
          EXPECT_TRUE(error[k] < error[k - 1] || error[k] < kTargetFloor) << clock.family << " " << sampler << " " << k;
      }
}

// The reverse kernel of Gaussian data is Gaussian: with the data's own scale the kernels are exact for any number of
// steps.
TEST(ClockDiffusion, KernelsAreExactForDataOfTheScale) {
  DiffusionOptions o;
  o.grid = "time";
  for (const ClockSpec& clock : clocks()) {
    const auto method = diffusion(clock, o, kTargetDeviation);
    for (const int64_t nfe : {1, 3, 10})
      EXPECT_LT(law_error(gaussian_samples(*method, "kernel", nfe, kTargetDeviation)), kTargetFloor) << clock.family;
  }
}

// A jump does not become small with the steps: the local score form alone does not return the law, however many steps
// it takes.
TEST(ClockDiffusionSlow, WithoutJumpKernelsTheStableClockFails) {
  DiffusionOptions o;
  o.grid = "time";
  for (const char* sampler : {"sde", "flow"}) {
    // As many steps as the clock's grid has: each holds one increment.
    for (const int steps : {50, 200, 800}) {
      const ClockSpec clock{"stable", {{"alpha", 1.2}}, steps};
      const auto method = diffusion(clock, o, kTargetDeviation);
      const double alone = law_error(gaussian_samples(*method, sampler, steps, kTargetDeviation));
      const double mixed = law_error(
          gaussian_samples(*method, std::string(sampler) == "sde" ? "mixed" : "mixed-flow", steps, kTargetDeviation));
      RecordProperty(fmt::format("{}_{}", sampler, steps),
                     fmt::format("alone {:.4f} with kernels {:.4f}", alone, mixed));
      EXPECT_GT(alone, 2 * kTargetFloor) << sampler << " " << steps;
      if (steps >= 200) {
        EXPECT_LT(mixed, kTargetFloor) << sampler << " " << steps;
      }
    }
  }
}

// At levels by angle every clock meets the same problem, and levels lie inside of jumps: no jump is too large.
TEST(ClockDiffusion, LevelsByAngle) {
  std::vector<ClockSpec> all = clocks();
  all.push_back({"stable", {{"alpha", 1.2}}});
  for (const ClockSpec& clock : all) {
    const auto method = diffusion(clock, {}, 1.0);
    for (const char* sampler : {"mixed-flow", "mixed", "kernel"}) {
      const double many = law_error(gaussian_samples(*method, sampler, 128, 1.0));
      EXPECT_LT(many, kTargetFloor) << clock.family << " " << sampler;
    }
  }
}

TEST(ClockDiffusion, WrongOptionsAreNamed) {
  const auto refusal = [](const std::function<void(DiffusionOptions&, FlowMatchingSpec&)>& change) -> std::string {
    FlowMatchingSpec spec;
    MethodOptions options;
    change(options.diffusion, spec);
    try {
      make_method("clock-diffusion", spec, options);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([](auto&, auto&) {}), "");
  EXPECT_NE(refusal([](auto& o, auto&) { o.dynamics = "subvp"; }).find("[diffusion.dynamics]"), std::string::npos);
  EXPECT_NE(refusal([](auto& o, auto&) { o.beta_min = 30; }).find("[diffusion.beta_min]"), std::string::npos);
  EXPECT_NE(refusal([](auto& o, auto&) { o.dynamics = "ve", o.sigma_min = 0; }).find("[diffusion.sigma_min]"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& o, auto&) { o.grid = "clock"; }).find("[diffusion.grid]"), std::string::npos);
  EXPECT_NE(refusal([](auto&, auto& s) { s.coupling.kind = "pool"; }).find("[coupling.kind]"), std::string::npos);
}

}  // namespace
}  // namespace htfm
