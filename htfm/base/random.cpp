#include "htfm/base/random.h"

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/random_kernels.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace htfm {

namespace {

constexpr int64_t kGrain = 1 << 15;  // elements a task; even, so that pairs of normals stay together

double open_uniform(uint32_t high, uint32_t low) {
  const uint64_t mantissa = (static_cast<uint64_t>(high) << 20) | (low >> 12);
  return static_cast<double>(mantissa) * 0x1p-52 + 0x1p-53;
}

}  // namespace

std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter, uint64_t stream) {
  std::array<uint32_t, 4> c{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), static_cast<uint32_t>(stream),
                            static_cast<uint32_t>(stream >> 32)};
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1), static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1,
         static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return c;
}

Key Key::child(uint64_t tag) const {
  // Children live in a stream of their own, apart from the elements (stream 0).
  const auto w = philox(value_, tag, 0x6b6579u);
  return Key((static_cast<uint64_t>(w[0]) << 32) | w[1]);
}

Key Key::child(std::string_view name) const {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return child(hash);
}

uint64_t Key::bits(uint64_t index) const {
  const auto w = philox(value_, index);
  return (static_cast<uint64_t>(w[0]) << 32) | w[1];
}

double Key::uniform(uint64_t index) const {
  const auto w = philox(value_, index);
  return open_uniform(w[0], w[1]);
}

uint64_t Key::below(uint64_t bound, uint64_t index) const {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits(index)) * bound) >> 64);
}

void fill_uniform(Key key, uint64_t first, int64_t n, double* out) {
  parallel_ranges(n, kGrain, [&](int64_t a, int64_t b) { kernels<RandomKernels>().uniform(key.value(), first + a, b - a, out + a); });
}

void fill_normal(Key key, uint64_t first, int64_t n, float* out) {
  parallel_ranges(n, kGrain, [&](int64_t a, int64_t b) { kernels<RandomKernels>().normal32(key.value(), first + a, b - a, out + a); });
}

void fill_normal(Key key, uint64_t first, int64_t n, double* out) {
  parallel_ranges(n, kGrain, [&](int64_t a, int64_t b) { kernels<RandomKernels>().normal64(key.value(), first + a, b - a, out + a); });
}

void fill_positive_stable(Key key, double rho, double scale, uint64_t first, int64_t n, double* out) {
  if (!(rho > 0 && rho <= 1)) throw InputError("[stable] expected rho in (0, 1], got {}", rho);
  if (rho == 1) {
    std::fill(out, out + n, scale);
    return;
  }
  const double log_scale = std::log(scale);
  parallel_ranges(n, kGrain,
                  [&](int64_t a, int64_t b) { kernels<RandomKernels>().positive_stable(key.value(), rho, log_scale, first + a, b - a, out + a); });
}

namespace {

// Marsaglia and Tsang (2000) for shape >= 1; below 1 the draw of shape + 1 times U^(1/shape).
double log_gamma_draw(Key key, double shape) {
  const double boosted = shape < 1 ? shape + 1 : shape;
  const double d = boosted - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  for (uint64_t attempt = 0;; ++attempt) {
    const auto w = philox(key.value(), 2 * attempt + 1);
    const double u1 = open_uniform(w[0], w[1]), u2 = open_uniform(w[2], w[3]);
    const double x = std::sqrt(-2 * std::log(u1)) * std::cos(2 * M_PI * u2);
    const double cube = 1 + c * x;
    if (cube <= 0) continue;
    const double v = cube * cube * cube, u = key.uniform(2 * attempt + 2);
    if (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      const double log_draw = std::log(d) + std::log(v);
      return shape < 1 ? log_draw + std::log(key.uniform(0)) / shape : log_draw;
    }
  }
}

}  // namespace

void fill_log_gamma_draw(Key key, double shape, uint64_t first, int64_t n, double* out) {
  if (!(shape > 0) || !std::isfinite(shape)) throw InputError("[gamma] expected a positive shape, got {}", shape);
  parallel_ranges(n, 1024, [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) out[i] = log_gamma_draw(key.child(first + static_cast<uint64_t>(i)), shape);
  });
}

void fill_permutation(Key key, int64_t n, int64_t* out) {
  std::iota(out, out + n, int64_t{0});
  for (int64_t i = n - 1; i > 0; --i) std::swap(out[i], out[key.below(static_cast<uint64_t>(i) + 1, static_cast<uint64_t>(i))]);
}

}  // namespace htfm
