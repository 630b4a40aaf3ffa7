#include "htfm/base/random_kernels.h"

#include "htfm/base/math.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace htfm {
namespace {

constexpr int kLanes = kVectorBytes / 8;
typedef uint64_t Lanes __attribute__((vector_size(kVectorBytes)));

// Product of the low 32 bits of each lane; what stands in the high bits does not matter.
[[gnu::always_inline]] inline Lanes multiply_low(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return (Lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

// Philox4x32-10 of kLanes consecutive counters; each word in the low half of its lane.
[[gnu::always_inline]] inline void philox_lanes(uint64_t key, uint64_t counter, Lanes word[4]) {
  Lanes c = counter - Lanes{};
  for (int i = 0; i < kLanes; ++i) c[i] += static_cast<uint64_t>(i);
  Lanes c0 = c & 0xffffffffu, c1 = c >> 32, c2{}, c3{};
  const Lanes m0 = 0xD2511F53u - Lanes{}, m1 = 0xCD9E8D57u - Lanes{};
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const Lanes p0 = multiply_low(c0, m0), p1 = multiply_low(c2, m1);
    const Lanes n0 = (p1 >> 32) ^ c1 ^ static_cast<uint64_t>(k0), n2 = (p0 >> 32) ^ c3 ^ static_cast<uint64_t>(k1);
    c0 = n0, c1 = p1, c2 = n2, c3 = p0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  word[0] = c0 & 0xffffffffu, word[1] = c1 & 0xffffffffu, word[2] = c2 & 0xffffffffu, word[3] = c3 & 0xffffffffu;
}

// A tile of counters, its words laid out for the loops that follow.
constexpr int kTile = 256;
struct alignas(64) Words {
  uint64_t word[4][kTile];
};

void fill_words(uint64_t key, uint64_t first, int64_t n, Words& out) {
  for (int64_t i = 0; i < n; i += kLanes) {
    Lanes w[4];
    philox_lanes(key, first + static_cast<uint64_t>(i), w);
    for (int k = 0; k < 4; ++k) __builtin_memcpy(&out.word[k][i], &w[k], sizeof(Lanes));
  }
}

// 52 random bits to the open interval (0,1): neither end is ever hit.
[[gnu::always_inline]] inline double open_uniform(uint64_t high, uint64_t low) {
  const uint64_t mantissa = (high << 20) | (low >> 12);
  return (from_bits(mantissa | 0x3ff0000000000000u) - 1.0) + 0x1p-53;
}

void uniform(uint64_t key, uint64_t first, int64_t n, double* out) {
  Words w;
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t m = n - at < kTile ? n - at : kTile;
    fill_words(key, first + static_cast<uint64_t>(at), m, w);
    for (int64_t i = 0; i < m; ++i) out[at + i] = open_uniform(w.word[0][i], w.word[1][i]);
  }
}

// Box and Muller: element 2b and 2b+1 of the stream come from block b.
void normal64(uint64_t key, uint64_t first, int64_t n, double* out) {
  Words w;
  alignas(64) double pair[2][kTile];
  const uint64_t end = first + static_cast<uint64_t>(n);
  for (uint64_t block = first / 2; 2 * block < end; block += kTile) {
    const uint64_t left = (end + 1) / 2 - block;
    const int64_t m = left < kTile ? static_cast<int64_t>(left) : kTile;
    fill_words(key, block, m, w);
    for (int64_t i = 0; i < m; ++i) {
      const double u = open_uniform(w.word[0][i], w.word[1][i]), v = open_uniform(w.word[2][i], w.word[3][i]);
      const double r = __builtin_sqrt(-2.0 * log_positive(u));
      // The angle 2 pi v by its half: sin and cos of pi v, doubled.
      const double s = sin_pi(v), c = cos_pi(v);
      pair[0][i] = r * (2.0 * s * c);
      pair[1][i] = r * (1.0 - 2.0 * s * s);
    }
    for (int64_t i = 0; i < m; ++i)
      for (int k = 0; k < 2; ++k) {
        const uint64_t index = 2 * (block + static_cast<uint64_t>(i)) + static_cast<uint64_t>(k);
        if (index >= first && index < end) out[index - first] = pair[k][i];
      }
  }
}

void normal32(uint64_t key, uint64_t first, int64_t n, float* out) {
  alignas(64) double tile[2 * kTile];
  for (int64_t at = 0; at < n; at += 2 * kTile) {
    const int64_t m = n - at < 2 * kTile ? n - at : 2 * kTile;
    normal64(key, first + static_cast<uint64_t>(at), m, tile);
    for (int64_t i = 0; i < m; ++i) out[at + i] = static_cast<float>(tile[i]);
  }
}

// S = sin(rho U) / sin(U)^(1/rho) (sin((1-rho)U) / E)^((1-rho)/rho), with U = pi (1 - v): the tail comes from v near 0, where
// a double has all its digits. In logarithms, two of the three sines share one: log S = (log(c/(E b)) + rho log(a E/c)) / rho.
void positive_stable(uint64_t key, double rho, double log_scale, uint64_t first, int64_t n, double* out) {
  Words w;
  const double inverse = 1.0 / rho, rest = 1.0 - rho;
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t m = n - at < kTile ? n - at : kTile;
    fill_words(key, first + static_cast<uint64_t>(at), m, w);
    double* o = out + at;
    for (int64_t i = 0; i < m; ++i) {
      const double v = open_uniform(w.word[0][i], w.word[1][i]);
      const double e = -log_positive(open_uniform(w.word[2][i], w.word[3][i]));
      const double u = 1.0 - v;
      const double a = sin_pi(rho * u), b = sin_pi(v), c = sin_pi(rest * u);
      const double ratio = c / e;
      o[i] = exp_double((log_positive(ratio / b) + rho * log_positive(a / ratio)) * inverse + log_scale);
    }
  }
}

}  // namespace

HTFM_DEFINE_KERNELS(RandomKernels, &uniform, &normal32, &normal64, &positive_stable)

}  // namespace htfm
