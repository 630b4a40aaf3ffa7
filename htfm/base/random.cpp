#include "htfm/base/random.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/random_kernels.h"

namespace htfm {

namespace {

constexpr int64_t kGrain = 1 << 15;  // elements a task; even, so that pairs of normals stay together

double open_uniform(uint32_t high, uint32_t low) {
  const uint64_t mantissa = (static_cast<uint64_t>(high) << 20) | (low >> 12);
  return static_cast<double>(mantissa) * 0x1p-52 + 0x1p-53;
}

}  // namespace

std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter, uint64_t stream) {
  std::array<uint32_t, 4> c{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                            static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
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
  parallel_ranges(n, kGrain, [&](int64_t a, int64_t b) {
    kernels<RandomKernels>().uniform(key.value(), first + a, b - a, out + a);
  });
}

void fill_normal(Key key, uint64_t first, int64_t n, float* out) {
  parallel_ranges(n, kGrain, [&](int64_t a, int64_t b) {
    kernels<RandomKernels>().normal32(key.value(), first + a, b - a, out + a);
  });
}

void fill_normal(Key key, uint64_t first, int64_t n, double* out) {
  parallel_ranges(n, kGrain, [&](int64_t a, int64_t b) {
    kernels<RandomKernels>().normal64(key.value(), first + a, b - a, out + a);
  });
}

void fill_positive_stable(Key key, double rho, double scale, uint64_t first, int64_t n, double* out) {
  if (!(rho > 0 && rho <= 1)) throw InputError("[stable] expected rho in (0, 1], got {}", rho);
  if (rho == 1) {
    std::fill(out, out + n, scale);
    return;
  }
  const double log_scale = std::log(scale);
  parallel_ranges(n, kGrain, [&](int64_t a, int64_t b) {
    kernels<RandomKernels>().positive_stable(key.value(), rho, log_scale, first + a, b - a, out + a);
  });
}

void fill_log_gamma_draw(Key key, double shape, uint64_t first, int64_t n, double* out) {
  if (!(shape > 0) || !std::isfinite(shape)) throw InputError("[gamma] expected a positive shape, got {}", shape);
  parallel_ranges(n, kGrain, [&](int64_t a, int64_t b) {
    kernels<RandomKernels>().log_gamma(key.value(), shape, first + a, b - a, out + a);
  });
}

void fill_permutation(Key key, int64_t n, int64_t* out) {
  std::iota(out, out + n, int64_t{0});
  for (int64_t i = n - 1; i > 0; --i)
    std::swap(out[i], out[key.below(static_cast<uint64_t>(i) + 1, static_cast<uint64_t>(i))]);
}

}  // namespace htfm
