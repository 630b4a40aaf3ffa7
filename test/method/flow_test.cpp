#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <numeric>

#include "htfm/base/error.h"
#include "htfm/method/flow_matching.h"

namespace htfm {
namespace {

at::Tensor normal_rows(int64_t n, int64_t dim, double scale, uint64_t seed) {
  at::Tensor x = at::empty({n, dim}, at::kFloat);
  float* p = x.mutable_data_ptr<float>();
  fill_normal(Key(seed), 0, n * dim, p);
  for (int64_t i = 0; i < n * dim; ++i) p[i] *= static_cast<float>(scale);
  return x;
}

// With x_0 and x_1 Gaussian the scaled input has variance 1, the scaled target too, and both are uncorrelated: that is
// what c_in, c_out and c_skip are for. Checked by the exact second moments.
TEST(Precondition, WhitensInputAndTarget) {
  for (const ScheduleInfo& info : schedules()) {
    const auto schedule = make_schedule({.name = info.name});
    // A clock-dependent one at the clock that has made most of its way early: ct = 0.9, tc = 0.1.
    const std::vector<double> coordinates =
        schedule->depends_on_clock() ? std::vector<double>{0.9, 0.1} : std::vector<double>{};
    for (const double sd : {0.3, 1.0, 40.0})
      for (const double s0 : {1e-3, 1.0, 1e8})
        for (double t = 0.02; t < 1; t += 0.07) {
          const Coefficients c = schedule->at(t, coordinates);
          const Scaling k = clock_scaling(c, sd, s0);
          // Input c_in (a x1 + b x0); target ((a' - skip a) x1 + (b' - skip b) x0) / out.
          const double in1 = k.in * c.alpha * sd, in0 = k.in * c.beta * s0;
          const double out1 = (c.dalpha - k.skip * c.alpha) * sd / k.out,
                       out0 = (c.dbeta - k.skip * c.beta) * s0 / k.out;
          EXPECT_NEAR(in1 * in1 + in0 * in0, 1, 1e-9) << info.name;
          EXPECT_NEAR(out1 * out1 + out0 * out0, 1, 1e-5) << info.name << " t " << t << " s0 " << s0;
          EXPECT_NEAR(in1 * out1 + in0 * out0, 0, 1e-5) << info.name;
        }
  }
}

TEST(Precondition, StraightLineFormulas) {
  const auto s = make_schedule({.name = "straight"});
  const double t = 0.3, sd = 1.5, s0 = 0.7, variance = t * t * sd * sd + (1 - t) * (1 - t) * s0 * s0;
  const Scaling k = clock_scaling(s->at(t), sd, s0);
  EXPECT_NEAR(k.in, 1 / std::sqrt(variance), 1e-14);
  EXPECT_NEAR(k.skip, (t * sd * sd - (1 - t) * s0 * s0) / variance, 1e-14);
  EXPECT_NEAR(k.out, sd * s0 / std::sqrt(variance), 1e-14);
}

TEST(Precondition, RobustScaleOfANormalSample) {
  for (const int64_t dim : {1, 2, 7}) {
    const at::Tensor x = normal_rows(20000, dim, 2.5, 3);
    // Error of the median radius plus that of Wilson and Hilferty's approximation (2 % at dim 1).
    EXPECT_NEAR(robust_scale(x), 2.5, 0.025 * 2.5) << dim;
  }
}

// With times by clock the network is told the same time for the same ratio of noise to signal, whatever the clock; the
// ordinary clock's own times stay as they are; and the pairs of a batch are those of the path at the time that this
// stands for.
TEST(FlowMatching, TimesByClockTellTheRatioOfNoiseToSignal) {
  FlowMatchingSpec spec;
  spec.clock = {.family = "inverse-gamma", .parameters = {{"nu", 3.0}}};
  spec.clock_time = true;
  FlowMatching flow(spec, DataScale(0.5));
  for (const double t : {0.0, 0.1, 0.5, 0.93, 1.0}) {
    EXPECT_NEAR(flow.network_time(t, {1, 0.5}), t, 1e-12);
    for (const double s0 : {0.01, 3.0, 1e4}) {
      const double u = flow.network_time(t, {s0, 0.5});
      if (t == 0 || t == 1) {
        EXPECT_EQ(u, t);
        continue;
      }
      EXPECT_NEAR(u / (1 - u) * s0, t / (1 - t), 1e-9 * t / (1 - t)) << t << " " << s0;
    }
  }
  const at::Tensor data = normal_rows(256, 3, 0.5, 5);
  flow.fit_to_data({data, {}, Key(2)});
  RunningStandardiser standardiser(flow.feature().size());
  std::vector<int64_t> index(256);
  std::iota(index.begin(), index.end(), 0);
  const PairPlan plan = flow.plan_pairs(Key(9), {data, index, 0}, standardiser);
  std::vector<double> times(256);
  fill_uniform(Key(9).child("time"), 0, 256, times.data());
  const double* area = plan.source.area.const_data_ptr<double>();
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(plan.rows[i].time, times[i]);
    // Signal and noise of the input: s_d data_in and s_0 source_in, in the ratio of the ordinary clock at that time.
    const double ratio = 0.5 * plan.rows[i].data_in / (std::sqrt(2 * area[i]) * plan.rows[i].source_in);
    EXPECT_NEAR(ratio, 0.5 * times[i] / (1 - times[i]), 1e-9 * ratio);
  }
}

// With normal times the logarithm of signal to noise has this mean and deviation, whatever the clock, and the network
// is told a time that stands for it: its own on the path, or the ordinary clock's.
TEST(FlowMatching, NormalTimesAreNormalInSignalToNoise) {
  constexpr size_t n = 20000;
  const at::Tensor data = normal_rows(n, 1, 0.5, 5);
  for (const char* schedule : {"straight", "ve-signature"})
    for (const bool clock_time : {false, true}) {
      FlowMatchingSpec spec;
      spec.clock = {.family = "stable", .parameters = {{"alpha", 1.7}}, .grid = 20};
      spec.schedule.name = schedule;
      spec.clock_time = clock_time, spec.times = {true, 0.5, 1.2};
      FlowMatching flow(spec, DataScale(0.5));
      flow.fit_to_data({data, {}, Key(2)});
      RunningStandardiser standardiser(flow.feature().size());
      std::vector<int64_t> index(n);
      std::iota(index.begin(), index.end(), 0);
      const PairPlan plan = flow.plan_pairs(Key(9), {data, index, 0}, standardiser);
      std::vector<double> z(n);
      fill_normal(Key(9).child("time"), 0, n, z.data());
      const double* area = plan.source.area.const_data_ptr<double>();
      double sum = 0, squares = 0;
      for (size_t i = 0; i < n; ++i) {
        const PairCoefficients& row = plan.rows[i];
        const double signal = std::log(0.5 * row.data_in / (std::sqrt(2 * area[i]) * row.source_in));
        EXPECT_NEAR(signal, 0.5 + 1.2 * z[i], 1e-6) << schedule;
        sum += signal, squares += signal * signal;
        if (!clock_time || std::string(schedule) != "straight") continue;
        EXPECT_NEAR(std::log(0.5 * row.time / (1 - row.time)), signal, 1e-6);
      }
      const double mean = sum / n, deviation = std::sqrt(squares / n - mean * mean);
      EXPECT_NEAR(mean, 0.5, 4 * 1.2 / std::sqrt(n));
      EXPECT_NEAR(deviation, 1.2, 4 * 1.2 / std::sqrt(2.0 * n));
    }
}

// Undoing the scaling of pairs must give the path and its derivative, so that network error zero means velocity error
// zero.
TEST(FlowMatching, PairsAreThePathAndItsVelocity) {
  const at::Tensor data = normal_rows(512, 3, 1, 5);
  for (const bool precondition : {true, false}) {
    FlowMatchingSpec spec;
    spec.clock = {.family = "inverse-gamma", .parameters = {{"nu", 3.0}}};
    spec.precondition = precondition;
    FlowMatching flow(spec, DataScale(1.2));
    flow.fit_to_data({data, {}, Key(2)});
    RunningStandardiser standardiser(flow.feature().size());
    const Key key(9);
    const TrainingPairs pairs = flow.pairs(key, {data, {}, 0}, standardiser);
    const ClockSample clocks = flow.clock().sample(key.child("clock"), {.count = 512, .paths = false});
    const at::Tensor source = sample_source(key.child("source"), clocks.area, 3);
    for (int64_t i = 0; i < 512; ++i) {
      const double t = pairs.t.const_data_ptr<float>()[i], area = clocks.area.const_data_ptr<double>()[i];
      const Scaling k = flow.scaling(t, flow.scales(area));
      for (int64_t c = 0; c < 3; ++c) {
        const double x1 = data.const_data_ptr<float>()[i * 3 + c], x0 = source.const_data_ptr<double>()[i * 3 + c];
        const double x = pairs.x.const_data_ptr<float>()[i * 3 + c] / k.in;
        const double v = k.skip * x + k.out * pairs.target.const_data_ptr<float>()[i * 3 + c];
        const double size = std::abs(x0) + std::abs(x1) + 1;
        EXPECT_NEAR(x, t * x1 + (1 - t) * x0, 1e-6 * size);
        EXPECT_NEAR(v, x1 - x0, 1e-4 * size);
      }
    }
  }
}

TEST(FlowMatching, FeatureIsStandardisedAndSkippedForTheDeterministicClock) {
  const at::Tensor data = normal_rows(4096, 2, 1, 5);
  FlowMatchingSpec spec;
  spec.clock = {.family = "stable", .parameters = {{"alpha", 1.7}}};
  FlowMatching flow(spec, DataScale(1));
  flow.fit_to_data({data, {}, Key(2)});
  ASSERT_EQ(flow.feature().size(), 2);
  RunningStandardiser standardiser(2);
  const TrainingPairs pairs = flow.pairs(Key(1), {data, {}, 0}, standardiser);
  double mean = 0, square = 0;
  for (int64_t i = 0; i < 4096; ++i) {
    const float* f = pairs.feature.const_data_ptr<float>() + 2 * i;
    EXPECT_EQ(f[0], 0);  // the increment of time never varies
    mean += f[1] / 4096.0, square += f[1] * f[1] / 4096.0;
  }
  EXPECT_NEAR(mean, 0, 1e-5);
  EXPECT_NEAR(square, 1, 1e-3);
  spec.clock = {.family = "deterministic", .parameters = {}};
  FlowMatching gaussian(spec, DataScale(1));
  gaussian.fit_to_data({data, {}, Key(2)});
  EXPECT_EQ(gaussian.feature().size(), 0);
  RunningStandardiser none;
  EXPECT_FALSE(gaussian.pairs(Key(1), {data, {}, 0}, none).feature.defined());
}

TEST(FlowMatching, AFunctionOfKeyDataAndState) {
  const at::Tensor data = normal_rows(300, 2, 1, 5);
  FlowMatchingSpec spec;
  spec.clock = {.family = "stable", .parameters = {{"alpha", 1.5}}};
  spec.feature.order = 3;
  FlowMatching flow(spec, DataScale(1));
  flow.fit_to_data({data, {}, Key(2)});
  RunningStandardiser a(flow.feature().size()), b(flow.feature().size());
  const TrainingPairs x = flow.pairs(Key(4), {data, {}, 0}, a), y = flow.pairs(Key(4), {data, {}, 0}, b);
  EXPECT_TRUE(x.x.equal(y.x) && x.target.equal(y.target) && x.feature.equal(y.feature) && x.t.equal(y.t));
}

TEST(FlowMatching, UnknownCouplingAndSizeAreNamed) {
  FlowMatchingSpec kind, size;
  kind.coupling.kind = "radial-ish";
  size.coupling.size.kind = "girth";
  EXPECT_THROW(FlowMatching{kind}, InputError);
  EXPECT_THROW(FlowMatching{size}, InputError);
}

}  // namespace
}  // namespace htfm
