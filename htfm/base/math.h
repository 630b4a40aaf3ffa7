// Elementary functions without branches or tables, so that a plain loop over them becomes vector code on any
// instruction set. Accurate to a few units in the last place on the ranges stated. For kernel files only.
#pragma once

#include <cstdint>
#include <cstring>

namespace htfm {
namespace {

[[gnu::always_inline]] inline double from_bits(uint64_t u) {
  double x;
  std::memcpy(&x, &u, sizeof x);
  return x;
}
[[gnu::always_inline]] inline uint64_t to_bits(double x) {
  uint64_t u;
  std::memcpy(&u, &x, sizeof u);
  return u;
}
[[gnu::always_inline]] inline float from_bits(uint32_t u) {
  float x;
  std::memcpy(&x, &u, sizeof x);
  return x;
}
[[gnu::always_inline]] inline uint32_t to_bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, sizeof u);
  return u;
}

// Polynomials below are Chebyshev fits whose error lies under the rounding error.

/// log x for positive normal x.
[[gnu::always_inline]] inline double log_positive(double x) {
  constexpr uint64_t root_half = 0x3fe6a09e667f3bcdu;  // sqrt(1/2): the mantissa is taken in [sqrt(1/2), sqrt(2))
  const uint64_t u = to_bits(x) + (0x3ff0000000000000u - root_half);
  // The exponent as a double through the constant 2^52: vectorises without 64-bit integer conversion.
  const double e = from_bits((u >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
  const double f = from_bits((u & 0x000fffffffffffffu) + root_half) - 1.0;
  const double s = f / (2.0 + f);  // log(1+f) = log((1+s)/(1-s))
  const double z = s * s;
  double r = 0.1461644968504340586;
  r = r * z + 0.15331721600556041269;
  r = r * z + 0.1818288912526172208;
  r = r * z + 0.22222211134795079855;
  r = r * z + 0.28571428625975484921;
  r = r * z + 0.3999999999989950449;
  r = r * z + 0.66666666666666696862;
  const double tail = s * (r * z) + e * 1.90821492927058770002e-10;
  return (tail + 2.0 * s) + e * 6.93147180369123816490e-01;
}

/// exp x; 0 below -708, infinity above 709.
[[gnu::always_inline]] inline double exp_double(double x) {
  const double clipped = x < -708.0 ? -708.0 : (x > 709.0 ? 709.0 : x);
  const double shifted = clipped * 1.4426950408889634074 + 6755399441055744.0;
  const double k = shifted - 6755399441055744.0;
  const double r = (clipped - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  double p = 2.5100375832561233664e-8;
  p = p * r + 2.7620075879983366586e-7;
  p = p * r + 2.7557268480310025526e-6;
  p = p * r + 0.000024801521322368693266;
  p = p * r + 0.00019841269863040545271;
  p = p * r + 0.0013888888917196719077;
  p = p * r + 0.0083333333333300644495;
  p = p * r + 0.041666666666624161903;
  p = p * r + 0.16666666666666667452;
  p = p * r + 0.50000000000000010211;
  p = p * (r * r) + r + 1.0;
  const double y = p * from_bits((to_bits(shifted) - 0x4338000000000000u + 1023u) << 52);
  const double low = x < -708.0 ? 0.0 : y;
  return x > 709.0 ? __builtin_inf() : low;
}

/// sin a for |a| <= pi/2.
[[gnu::always_inline]] inline double sin_first_quadrant(double a) {
  const double z = a * a;
  double p = 2.7314447669863993424e-15;
  p = p * z - 7.6439702967985720524e-13;
  p = p * z + 1.6058977312464087621e-10;
  p = p * z - 2.5052107616996182891e-8;
  p = p * z + 2.7557319219163233416e-6;
  p = p * z - 0.00019841269841254973769;
  p = p * z + 0.0083333333333333158688;
  p = p * z - 0.16666666666666666633;
  return a + a * (z * p);
}

/// sin(pi x) for 0 <= x <= 1 with y = 1 - x, relative accuracy kept at both ends.
[[gnu::always_inline]] inline double sin_pi(double x, double y) {
  return sin_first_quadrant((x < y ? x : y) * 3.14159265358979323846);
}
[[gnu::always_inline]] inline double sin_pi(double x) { return sin_pi(x, 1.0 - x); }

/// cos(pi x) for 0 <= x <= 1.
[[gnu::always_inline]] inline double cos_pi(double x) { return sin_first_quadrant((0.5 - x) * 3.14159265358979323846); }

/// Kanter's positive rho-stable draw times exp(log_scale), from two uniform numbers in the open interval (0,1):
/// S = sin(rho U) / sin(U)^(1/rho) (sin((1-rho)U) / E)^((1-rho)/rho) with U = pi (1 - v), E = -log w. The tail comes
/// from v near 0, where a double has all its digits.
[[gnu::always_inline]] inline double kanter(double v, double w, double rho, double log_scale) {
  const double e = -log_positive(w), u = 1.0 - v, rest = 1.0 - rho;
  const double a = sin_pi(rho * u, rest + rho * v), b = sin_pi(v, u), c = sin_pi(rest * u, rho + rest * v);
  // S = (a E / c) (c / (E b))^(1/rho): one logarithm, one division for both fractions.
  const double eb = e * b, inverse = 1.0 / (c * eb);
  return (a * e) * (eb * inverse) * exp_double(log_positive((c * c) * inverse) * (1.0 / rho) + log_scale);
}

/// exp x in float32, clipped to [-87, 88].
[[gnu::always_inline]] inline float exp_float(float x) {
  const float clipped = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  const float shifted = clipped * 1.44269504f + 12582912.0f;
  const float k = shifted - 12582912.0f;
  const float r = (clipped - k * 0.693359375f) + k * 2.12194440e-4f;
  float p = 0.000198909808698f;
  p = p * r + 0.0013933641032f;
  p = p * r + 0.00833331093445f;
  p = p * r + 0.041666465006f;
  p = p * r + 0.166666666816f;
  p = p * r + 0.500000001346f;
  p = p * (r * r) + r + 1.0f;
  return p * from_bits((to_bits(shifted) - 0x4b400000u + 127u) << 23);
}

}  // namespace
}  // namespace htfm
