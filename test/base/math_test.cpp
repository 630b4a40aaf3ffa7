// The functions behind the kernels, against long double, as each instruction set compiles them.
#include "htfm/base/math.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "htfm/base/dispatch.h"
#include "htfm/base/random.h"

namespace htfm {
namespace {

// "A few units in the last place": argument reduction, polynomial and reconstruction round once or twice each.
constexpr double kUlps = 3;

using Map = void (*)(const double* x, double* y, int64_t n);
using MapFloat = void (*)(const float* x, float* y, int64_t n);
struct Variant {
  Isa isa;
  Map log, exp, sin_pi, cos_pi;
  MapFloat exp_float;
};

// NOLINTBEGIN(bugprone-macro-parentheses): an attribute cannot stand in them
#define MATH_VARIANT(name, attribute)                                                 \
  struct name {                                                                       \
    attribute static void log(const double* x, double* y, int64_t n) {                \
      for (int64_t i = 0; i < n; ++i) y[i] = log_positive(x[i]);                      \
    }                                                                                 \
    attribute static void exp(const double* x, double* y, int64_t n) {                \
      for (int64_t i = 0; i < n; ++i) y[i] = exp_double(x[i]);                        \
    }                                                                                 \
    attribute static void sin(const double* x, double* y, int64_t n) {                \
      for (int64_t i = 0; i < n; ++i) y[i] = sin_pi(x[i]);                            \
    }                                                                                 \
    attribute static void cos(const double* x, double* y, int64_t n) {                \
      for (int64_t i = 0; i < n; ++i) y[i] = cos_pi(x[i]);                            \
    }                                                                                 \
    attribute static void exp32(const float* x, float* y, int64_t n) {                \
      for (int64_t i = 0; i < n; ++i) y[i] = exp_float(x[i]);                         \
    }                                                                                 \
    static Variant variant(Isa isa) { return {isa, &log, &exp, &sin, &cos, &exp32}; } \
  };
// NOLINTEND(bugprone-macro-parentheses)
MATH_VARIANT(Base, )
#if defined(__x86_64__)
MATH_VARIANT(V3, [[gnu::target("arch=x86-64-v3")]])
MATH_VARIANT(V4, [[gnu::target("arch=x86-64-v4")]])
#endif

std::vector<Variant> variants() {
  std::vector<Variant> out{Base::variant(Isa::base)};
#if defined(__x86_64__)
  if (isa() >= Isa::v3) out.push_back(V3::variant(Isa::v3));
  if (isa() >= Isa::v4) out.push_back(V4::variant(Isa::v4));
#endif
  return out;
}

double ulp(long double exact) { return std::ldexp(1.0, std::max(std::ilogb(exact), -1022) - 52); }

// Largest error in units of the last place of the exact value.
template <class Exact>
double worst(Map map, const std::vector<double>& x, const Exact& exact) {
  std::vector<double> y(x.size());
  map(x.data(), y.data(), static_cast<int64_t>(x.size()));
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double wanted = exact(static_cast<long double>(x[i]));
    const auto here = static_cast<double>(std::abs(static_cast<long double>(y[i]) - wanted)) / ulp(wanted);
    if (!(here <= error)) error = here;  // keeps a NaN
    if (std::isnan(here)) break;
  }
  return error;
}

std::vector<double> uniforms(double lower, double upper, int64_t n, uint64_t seed) {
  std::vector<double> x(static_cast<size_t>(n));
  fill_uniform(Key(seed), 0, n, x.data());
  for (double& v : x) v = lower + (upper - lower) * v;
  return x;
}

TEST(Math, LogIsAccurateOnAllNormalNumbers) {
  std::vector<double> x;
  const Key key(1);
  for (uint64_t e = 1; e <= 2046; ++e)
    for (uint64_t k = 0; k < 100; ++k) x.push_back(from_bits((e << 52) | (key.bits(100 * e + k) >> 12)));
  // Where the exponent or the sign of the result changes: powers of 2, sqrt(1/2), 1 from both sides.
  for (int e = -1022; e <= 1023; ++e)
    for (const double v :
         {1.0, std::nextafter(2.0, 0.0), M_SQRT2, std::nextafter(M_SQRT2, 2.0), std::nextafter(M_SQRT2, 0.0)})
      x.push_back(std::ldexp(v, e));
  for (int e = 1; e <= 53; ++e)
    for (const double sign : {-1.0, 1.0}) x.push_back(1 + sign * std::ldexp(1.0, -e));
  x.push_back(std::numeric_limits<double>::min());
  x.push_back(std::numeric_limits<double>::max());
  for (const Variant& v : variants()) {
    EXPECT_LE(worst(v.log, x, [](long double a) { return std::log(a); }), kUlps) << static_cast<int>(v.isa);
    double zero;
    v.log(std::array{1.0}.data(), &zero, 1);
    EXPECT_EQ(zero, 0);
  }
}

TEST(Math, ExpIsAccurateOnItsRangeAndSaturatesOutside) {
  std::vector<double> x = uniforms(-708, 709, 200'000, 2);
  for (const double v : uniforms(-1, 1, 50'000, 3)) x.push_back(v);
  for (int e = 0; e < 60; ++e)
    for (const double sign : {-1.0, 1.0}) x.push_back(sign * std::ldexp(1.0, -e));
  x.insert(x.end(), {-708, 709, 0});
  const double inf = std::numeric_limits<double>::infinity();
  const std::array outside{-inf, -1e308,      std::nextafter(-708.0, -inf), std::nextafter(709.0, inf), 1e308,
                           inf,  std::nan("")};
  for (const Variant& v : variants()) {
    EXPECT_LE(worst(v.exp, x, [](long double a) { return std::exp(a); }), kUlps) << static_cast<int>(v.isa);
    std::array<double, 7> y;
    v.exp(outside.data(), y.data(), 7);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(y[i], 0);
    for (int i = 3; i < 6; ++i) EXPECT_EQ(y[i], inf);
    EXPECT_TRUE(std::isnan(y[6]));
  }
}

TEST(Math, SineAndCosineOfPiKeepTheirRelativeAccuracy) {
  std::vector<double> x = uniforms(0, 1, 200'000, 4);
  for (int e = 1; e <= 53; ++e) x.insert(x.end(), {std::ldexp(1.0, -e), 1 - std::ldexp(1.0, -e)});
  std::vector<double> y = x;  // cos vanishes at 1/2: there 0.5 +- 2^-e
  for (int e = 2; e <= 53; ++e)
    y.insert(y.end(), {0.5 - std::ldexp(1.0, -e), 0.5 + std::ldexp(1.0, std::max(-e, -52))});
  // Exact: the argument of sinl is taken from the nearer zero, where long double keeps 11 bits more than double.
  const long double pi = std::numbers::pi_v<long double>;
  const auto sin_exact = [&](long double a) { return std::sin(pi * std::min(a, 1 - a)); };
  const auto cos_exact = [&](long double a) { return std::sin(pi * (0.5L - a)); };
  for (const Variant& v : variants()) {
    EXPECT_LE(worst(v.sin_pi, x, sin_exact), kUlps) << static_cast<int>(v.isa);
    EXPECT_LE(worst(v.cos_pi, y, cos_exact), kUlps) << static_cast<int>(v.isa);
    const std::array ends{0.0, 1.0, 0.5};
    std::array<double, 3> got;
    v.sin_pi(ends.data(), got.data(), 3);
    EXPECT_EQ(got, (std::array{0.0, 0.0, 1.0}));
    v.cos_pi(ends.data(), got.data(), 3);
    EXPECT_EQ(got, (std::array{1.0, -1.0, 0.0}));
  }
}

TEST(Math, ExpInSinglePrecision) {
  std::vector<float> x, y;
  for (const double v : uniforms(-87, 88, 200'000, 5)) x.push_back(static_cast<float>(v));
  x.insert(x.end(), {-87, 88, 0, 1e-30f, -1e-30f});
  y.resize(x.size());
  for (const Variant& v : variants()) {
    v.exp_float(x.data(), y.data(), static_cast<int64_t>(x.size()));
    double error = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(static_cast<double>(x[i]));
      error = std::max(error, std::abs(y[i] - exact) / std::ldexp(1.0, std::ilogb(exact) - 23));
    }
    EXPECT_LE(error, kUlps) << static_cast<int>(v.isa);
    const std::array outside{-1e30f, 1e30f, std::nanf("")};
    std::array<float, 3> got;
    v.exp_float(outside.data(), got.data(), 3);
    EXPECT_NEAR(got[0] / std::exp(-87.0), 1, 1e-6);
    EXPECT_NEAR(got[1] / std::exp(88.0), 1, 1e-6);
    EXPECT_TRUE(std::isnan(got[2]));
  }
}

// The extreme uniforms are 2^-53 and 1 - 2^-53, so this covers every draw that can come.
TEST(Math, KanterIsFiniteInAllCorners) {
  const double low = 0x1p-53, high = 1 - 0x1p-53;
  for (const double rho : {0.11, 0.25, 0.5, 0.75, 0.95, 0.9999, 1 - 0x1p-53})
    for (const double v : {low, 1e-9, 0.3, 0.5, 0.9, 1 - 1e-9, high})
      for (const double w : {low, 1e-9, 0.5, 1 - 1e-9, high}) {
        const double s = kanter(v, w, rho, 0);
        EXPECT_TRUE(std::isfinite(s) && s > 0) << rho << ' ' << v << ' ' << w << ' ' << s;
      }
}

// The exponent log(c / (E b)) / rho carries the rounding of a few operations, relative to its own size.
TEST(Math, KanterEqualsTheFormula) {
  const std::vector<double> v = uniforms(0, 1, 20'000, 6), w = uniforms(0, 1, 20'000, 7);
  const long double pi = std::numbers::pi_v<long double>;
  for (const double rho : {0.05, 0.25, 0.5, 0.85, 0.999})
    for (size_t i = 0; i < v.size(); ++i) {
      const long double u = pi * (1.0L - v[i]), e = -std::log(static_cast<long double>(w[i])), r = rho;
      const long double exact =
          std::sin(r * u) / std::pow(std::sin(pi * v[i]), 1 / r) * std::pow(std::sin((1 - r) * u) / e, (1 - r) / r);
      const double size =
          1 + std::abs(static_cast<double>(std::log(std::sin((1 - r) * u) / (e * std::sin(pi * v[i])))));
      const double bound = 0x1p-52 * (5 * size / rho + 10);
      ASSERT_NEAR(static_cast<double>(kanter(v[i], w[i], rho, 0) / exact), 1, bound)
          << rho << ' ' << v[i] << ' ' << w[i];
    }
}

}  // namespace
}  // namespace htfm
