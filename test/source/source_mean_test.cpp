// Skewed sources: moments and characteristic functions of the named laws.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "htfm/base/error.h"
#include "htfm/base/registry.h"
#include "htfm/method/flow_matching.h"
#include "htfm/stat/estimators.h"

namespace htfm {
namespace {

using ComplexNumber = std::complex<double>;

struct Law {
  std::string name;
  std::map<std::string, double> parameters;
  std::function<ComplexNumber(ComplexNumber s)> laplace;  // E exp(-s V), V = 2A
  double variance;                                        // of V, whose mean is `mean`; infinity where there is none
  double mean = 1;
};

// E exp(-s V) for V = (nu/2) / G by a sum over log G, G ~ Gamma(nu/2, 1).
ComplexNumber inverse_gamma_laplace(double nu, ComplexNumber s) {
  ComplexNumber sum = 0;
  const double h = 0.002;
  for (double y = -25; y < 5; y += h)
    sum += h * std::exp(nu / 2 * y - std::exp(y) - std::lgamma(nu / 2)) * std::exp(-s * (nu / 2) * std::exp(-y));
  return sum;
}

const std::vector<Law>& laws() {
  constexpr double inf = HUGE_VAL;
  static const std::vector<Law> list{
      {"variance-gamma", {{"shape", 1.5}}, [](ComplexNumber s) { return std::pow(1.0 + s / 1.5, -1.5); }, 1 / 1.5},
      {"normal-inverse-gaussian",
       {{"shape", 0.8}},
       [](ComplexNumber s) { return std::exp(0.8 * (1.0 - std::sqrt(1.0 + 2.0 * s / 0.8))); },
       1 / 0.8},
      {"skewed-student",
       {{"nu", 12.0}},
       [](ComplexNumber s) { return inverse_gamma_laplace(12, s); },
       36.0 / (25 * 4),
       1.2},
      {"skewed-student", {{"nu", 1.7}}, [](ComplexNumber s) { return inverse_gamma_laplace(1.7, s); }, inf},
      // E exp(-s V) = exp(-(2 s)^rho / 2): for s = |xi|^2 / 2 the isotropic stable law.
      {"skewed-stable",
       {{"alpha", 1.5}},
       [](ComplexNumber s) { return std::exp(-std::pow(2.0 * s, 0.75) / 2.0); },
       inf}};
  return list;
}

constexpr int64_t kMeanDraws = 400'000;

at::Tensor draw(const Law& law, const SourceMeanSpec& mean) {
  FlowMatchingSpec spec;
  spec.clock = {find_named(skewed_sources(), law.name, "source.law").family, law.parameters, 50};
  spec.source = mean;
  const FlowMatching flow(spec);
  const ClockSample clocks = flow.clock().sample(Key(6).child("clock"), {.count = kMeanDraws, .paths = false});
  return flow.draw_source(Key(6).child("source"), clocks.area, 2, 0);
}

// E exp(i <xi, X>) = exp(i <xi, shift>) E exp(-(|xi|^2 / 2 - i <xi, skew>) V), real and imaginary part.
TEST(SkewedSource, CharacteristicFunctionsOfTheNamedLaws) {
  const double skew[2] = {0.7, -0.4}, shift[2] = {-0.3, 0.2};
  for (const Law& law : laws()) {
    const at::Tensor x = draw(law, {"0.7, -0.4", "-0.3,0.2"});
    const double* p = x.const_data_ptr<double>();
    for (const auto& [a, b] : {std::pair{0.5, 0.0}, {0.0, -1.0}, {1.0, 1.0}, {-2.0, 0.5}}) {
      double c = 0, s = 0, cc = 0, ss = 0;
      for (int64_t i = 0; i < kMeanDraws; ++i) {
        const double phase = a * p[2 * i] + b * p[2 * i + 1], co = std::cos(phase), si = std::sin(phase);
        c += co, s += si, cc += co * co, ss += si * si;
      }
      const auto n = static_cast<double>(kMeanDraws);
      c /= n, s /= n;
      const ComplexNumber truth = std::exp(ComplexNumber(0, a * shift[0] + b * shift[1])) *
                                  law.laplace(ComplexNumber((a * a + b * b) / 2, -(a * skew[0] + b * skew[1])));
      EXPECT_NEAR(c, truth.real(), 4 * std::sqrt((cc / n - c * c) / n)) << law.name << " " << a << " " << b;
      EXPECT_NEAR(s, truth.imag(), 4 * std::sqrt((ss / n - s * s) / n)) << law.name << " " << a << " " << b;
    }
  }
}

// Mean shift + skew E V; covariance E V I + Var V skew skew^T. Standard errors from the draws themselves.
TEST(SkewedSource, MomentsOfTheNamedLaws) {
  const double skew[2] = {0.7, -0.4}, shift[2] = {-0.3, 0.2};
  for (const Law& law : laws()) {
    if (!std::isfinite(law.variance)) continue;
    const at::Tensor x = draw(law, {"0.7,-0.4", "-0.3,0.2"});
    const double* p = x.const_data_ptr<double>();
    const auto near = [&](const std::function<double(const double*)>& value, double truth, const char* what) {
      double sum = 0, square = 0;
      for (int64_t i = 0; i < kMeanDraws; ++i) sum += value(p + 2 * i), square += value(p + 2 * i) * value(p + 2 * i);
      const auto n = static_cast<double>(kMeanDraws);
      const double mean = sum / n;
      EXPECT_NEAR(mean, truth, 4 * std::sqrt((square / n - mean * mean) / n)) << law.name << " " << what;
    };
    double mean[2];
    for (int k = 0; k < 2; ++k) {
      mean[k] = shift[k] + skew[k] * law.mean;
      near([k](const double* v) { return v[k]; }, mean[k], "mean");
    }
    for (int k = 0; k < 2; ++k)
      near([&, k](const double* v) { return (v[k] - mean[k]) * (v[k] - mean[k]); },
           law.mean + law.variance * skew[k] * skew[k], "variance");
    near([&](const double* v) { return (v[0] - mean[0]) * (v[1] - mean[1]); }, law.variance * skew[0] * skew[1],
         "covariance");
  }
}

TEST(SkewedSource, WithoutAMeanNothingChanges) {
  const Law& law = laws()[0];
  const at::Tensor plain = draw(law, {}), zero = draw(law, {"0,0", "0"});
  EXPECT_TRUE(plain.equal(zero));
}

// x_t = alpha x_1 + beta x_0 with the skewed x_0 under every coupling, whose law of x_0 - m(T) given the clock is N(0,
// 2A).
TEST(SkewedSource, PairsTakeTheSkewedSource) {
  at::Tensor data = at::empty({4096, 2}, at::kFloat);
  fill_normal(Key(3), 0, 8192, data.mutable_data_ptr<float>());
  std::vector<int64_t> index(4096);
  for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int64_t>(i);
  for (const char* coupling : {"independent", "radial", "clock", "pool"}) {
    FlowMatchingSpec spec;
    spec.clock = {"gamma", {{"shape", 2.0}}};
    spec.source = {"3", "1"};
    spec.coupling.kind = coupling;
    spec.coupling.pool = 4096;
    FlowMatching flow(spec, DataScale(1));
    flow.fit_to_data({data, {}, Key(2)});
    RunningStandardiser standardiser(flow.feature().size());
    const PairPlan plan = flow.plan_pairs(Key(9), {data, index, 0}, standardiser);
    ASSERT_TRUE(plan.source.source.defined()) << coupling;  // nobody else can draw it
    double sum = 0, square = 0, scaled = 0;
    for (int64_t i = 0; i < 4096; ++i) {
      const double area = plan.source.area.const_data_ptr<double>()[i];
      for (int k = 0; k < 2; ++k) {
        const double x = plan.points().const_data_ptr<double>()[2 * i + k],
                     z = (x - 1 - 3 * 2 * area) / std::sqrt(2 * area);
        sum += z, square += z * z;
        scaled += x * x / std::pow(flow.scales(area).source, 2);
      }
    }
    EXPECT_NEAR(sum / 8192, 0, 4 / std::sqrt(8192.0)) << coupling;
    EXPECT_NEAR(square / 8192, 1, 4 * std::sqrt(2 / 8192.0)) << coupling;
    // The scale is the root mean square given the clock; each ratio has variance at most 2.
    EXPECT_NEAR(scaled / 8192, 1, 4 * std::sqrt(2 / 8192.0)) << coupling;
  }
}

// With P(V > v) ~ c v^(-p/2): on the side of its skew a coordinate is skew V in the end, and P(X > x) ~ c (x /
// skew)^(-p/2); on the other P(X < -x | V) <= P(z > 2 sqrt(skew x)) for every V; without a skew the exponent is p.
// Hill's estimate over the largest 2000 of a million.
TEST(SkewedSource, TailsOfBothSides) {
  const double inf = std::numeric_limits<double>::infinity();
  const SourceMeanSpec spec{"2, -1, 0", ""};
  const SourceMean mean(spec);
  EXPECT_EQ(SourceMean().tail_exponent(3), 3);
  EXPECT_EQ(mean.tail_exponent(3), 1.5);
  EXPECT_EQ(mean.tail_exponent(3, 0, 1), 1.5);
  EXPECT_EQ(mean.tail_exponent(3, 0, -1), inf);
  EXPECT_EQ(mean.tail_exponent(3, 1, 1), inf);
  EXPECT_EQ(mean.tail_exponent(3, 1, -1), 1.5);
  EXPECT_EQ(mean.tail_exponent(3, 2, 1), 3);
  EXPECT_EQ(mean.tail_exponent(3, 2, -1), 3);
  EXPECT_EQ(mean.tail_exponent(inf), inf);

  const int64_t n = 1'000'000, k = 2000;
  const auto clock = make_clock({"inverse-gamma", {{"nu", 3.0}}, 1});
  const at::Tensor area = clock->sample(Key(8).child("clock"), {.count = n, .paths = false}).area;
  at::Tensor x = sample_source(Key(8).child("source"), area, 3);
  mean.add(area, x);
  for (int64_t column = 0; column < 3; ++column)
    for (const double sign : {1.0, -1.0}) {
      const at::Tensor side = std::get<0>(x.select(1, column).mul(sign).sort());
      const std::span<const double> sorted(side.const_data_ptr<double>(), static_cast<size_t>(n));
      const double exponent = mean.tail_exponent(clock->tail_exponent(), column, sign);
      if (std::isfinite(exponent)) {
        // The relative bias is of order (k / n)^(2/3) = 0.016 here, less than one of the four standard errors of 0.022.
        EXPECT_NEAR(hill_estimate(sorted, k).gamma, 1 / exponent, 4 / exponent / std::sqrt(static_cast<double>(k)))
            << column << sign;
        continue;
      }
      const double skew = column == 0 ? 2 : 1;
      for (const double at : {1.0, 2.0, 3.0}) {
        const auto beyond = static_cast<double>(sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), at));
        const double bound = static_cast<double>(n) * std::erfc(std::sqrt(2 * skew * at)) / 2;
        EXPECT_LE(beyond, bound + 4 * std::sqrt(bound) + 4) << column << sign << " " << at;
      }
    }
}

// The exponent that the data's tail is expected to have, and that figures are drawn with, is the source's.
TEST(SkewedSource, MethodKnowsItsTail) {
  FlowMatchingSpec spec;
  spec.clock = {"inverse-gamma", {{"nu", 5.0}}, 20};
  EXPECT_EQ(FlowMatching(spec).tail_exponent(), 5);
  spec.source = {"", "1"};
  EXPECT_EQ(FlowMatching(spec).tail_exponent(), 5);
  spec.source = {"0.3", "1"};
  EXPECT_EQ(FlowMatching(spec).tail_exponent(), 2.5);
}

TEST(SkewedSource, WrongListsAreNamed) {
  const auto refusal = [](const SourceMeanSpec& spec) -> std::string {
    try {
      SourceMean(spec).check(3);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({"1, 2, 3", "1"}), "");
  EXPECT_NE(refusal({"1,2", ""}).find("[source.skew]"), std::string::npos);
  EXPECT_NE(refusal({"1,2,x", ""}).find("[source.skew]"), std::string::npos);
  EXPECT_NE(refusal({"", "inf"}).find("[source.shift]"), std::string::npos);
  EXPECT_NE(refusal({"1,2,3", "1,2"}).find("[source.shift]"), std::string::npos);
}

}  // namespace
}  // namespace htfm
