#include "htfm/base/random_kernels.h"

#include "htfm/base/lanes.h"
#include "htfm/base/math.h"

namespace htfm {
namespace {

using Lanes = Vector<uint64_t>;
constexpr int kLanes = kLanesOf<uint64_t>;

// Product of the low 32 bits of each lane; what stands in the high bits does not matter.
[[gnu::always_inline]] inline Lanes multiply_low(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return (Lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (Lanes)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

// Philox4x32-10 of kLanes counters; each word in the low half of its lane.
[[gnu::always_inline]] inline void philox_lanes(uint64_t key, Lanes counter, uint64_t stream, Lanes word[4]) {
  Lanes c0 = counter & 0xffffffffu, c1 = counter >> 32, c2 = (stream & 0xffffffffu) - Lanes{},
        c3 = (stream >> 32) - Lanes{};
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

// A tile of counters, its words laid out for the loops that follow. Loops run over whole blocks of the tile, so that
// every element goes through the same vector code and its bits do not depend on where a fill starts or ends.
constexpr int kTile = 256, kBlock = 16;
struct alignas(64) Words {
  uint64_t word[4][kTile];
};

[[gnu::always_inline]] inline int64_t whole_blocks(int64_t n) {
  return (n + kBlock - 1) & ~static_cast<int64_t>(kBlock - 1);
}

void fill_words(uint64_t key, uint64_t first, int64_t n, Words& out) {
  Lanes counter = first - Lanes{};
  for (int i = 0; i < kLanes; ++i) counter[i] += static_cast<uint64_t>(i);
  for (int64_t i = 0; i < whole_blocks(n); i += kLanes, counter += kLanes) {
    Lanes w[4];
    philox_lanes(key, counter, 0, w);
    for (int k = 0; k < 4; ++k) __builtin_memcpy(&out.word[k][i], &w[k], sizeof(Lanes));
  }
}

// The same for a list of counters, padded to whole blocks by the caller.
void fill_words_at(uint64_t key, const uint64_t* counters, uint64_t stream, int64_t n, Words& out) {
  for (int64_t i = 0; i < whole_blocks(n); i += kLanes) {
    Lanes counter, w[4];
    __builtin_memcpy(&counter, counters + i, sizeof counter);
    philox_lanes(key, counter, stream, w);
    for (int k = 0; k < 4; ++k) __builtin_memcpy(&out.word[k][i], &w[k], sizeof(Lanes));
  }
}

// 52 random bits to the open interval (0,1): neither end is ever hit.
[[gnu::always_inline]] inline double open_uniform(uint64_t high, uint64_t low) {
  const uint64_t mantissa = (high << 20) | (low >> 12);
  return (from_bits(mantissa | 0x3ff0000000000000u) - 1.0) + 0x1p-53;
}

// The same from one word of 32 bits, where that is fine enough.
[[gnu::always_inline]] inline double coarse_uniform(uint64_t word) {
  return (from_bits(word | 0x4330000000000000u) - (0x1p52 - 0.5)) * 0x1p-32;
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
  alignas(64) double pair[kTile][2];
  const uint64_t end = first + static_cast<uint64_t>(n);
  for (uint64_t block = first / 2; 2 * block < end; block += kTile) {
    const uint64_t left = (end + 1) / 2 - block;
    const int64_t m = left < kTile ? static_cast<int64_t>(left) : kTile;
    fill_words(key, block, m, w);
    for (int64_t i = 0; i < whole_blocks(m); ++i) {
      const double u = open_uniform(w.word[0][i], w.word[1][i]), v = open_uniform(w.word[2][i], w.word[3][i]);
      const double r = __builtin_sqrt(-2.0 * log_positive(u));
      // The angle 2 pi v by its half: sin and cos of pi v, doubled.
      const double s = sin_pi(v), c = cos_pi(v);
      pair[i][0] = r * (2.0 * s * c);
      pair[i][1] = r * (1.0 - 2.0 * s * s);
    }
    const uint64_t from = 2 * block < first ? first : 2 * block,
                   to = 2 * block + 2 * kTile < end ? 2 * block + 2 * kTile : end;
    __builtin_memcpy(out + (from - first), &pair[0][0] + (from - 2 * block), (to - from) * sizeof(double));
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

void positive_stable(uint64_t key, double rho, double log_scale, uint64_t first, int64_t n, double* out) {
  Words w;
  alignas(64) double part[kTile];
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t m = n - at < kTile ? n - at : kTile;
    fill_words(key, first + static_cast<uint64_t>(at), m, w);
    double* o = m == kTile ? out + at : part;
    for (int64_t i = 0; i < whole_blocks(m); ++i)
      o[i] = kanter(open_uniform(w.word[0][i], w.word[1][i]), open_uniform(w.word[2][i], w.word[3][i]), rho, log_scale);
    if (o == part) __builtin_memcpy(out + at, part, static_cast<size_t>(m) * sizeof(double));
  }
}

// Marsaglia and Tsang (2000) for shape >= 1; below 1 the draw of shape + 1 times U^(1/shape). Attempt a of element i
// uses the words of counter i in stream a + 1, so an element does not depend on its neighbours' rejections.
void log_gamma(uint64_t key, double shape, uint64_t first, int64_t n, double* out) {
  Words w;
  alignas(64) double value[kTile], excess[kTile];
  alignas(64) uint64_t counter[kTile];
  const bool boost = shape < 1;
  const double d = (boost ? shape + 1 : shape) - 1.0 / 3.0, c = 1.0 / __builtin_sqrt(9.0 * d), log_d = log_positive(d),
               inverse = 1.0 / shape;
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t m = n - at < kTile ? n - at : kTile;
    for (int64_t i = 0; i < kTile; ++i) counter[i] = first + static_cast<uint64_t>(at + i);
    int64_t open = m;
    for (uint64_t stream = 1; open > 0; ++stream) {
      fill_words_at(key, counter, stream, open, w);
      for (int64_t i = 0; i < whole_blocks(open); ++i) {
        const double u = open_uniform(w.word[0][i], w.word[1][i]), s = sin_pi(coarse_uniform(w.word[2][i]));
        const double x = __builtin_sqrt(-2.0 * log_positive(u)) * (1.0 - 2.0 * s * s);
        const double cube_root = 1.0 + c * x, safe = cube_root > 0x1p-60 ? cube_root : 0x1p-60;
        const double log_v = 3.0 * log_positive(safe), v = safe * safe * safe;
        value[i] = log_d + log_v;
        const double bound = 0.5 * x * x + d * (1.0 - v + log_v) - log_positive(coarse_uniform(w.word[3][i]));
        excess[i] = cube_root > 0 ? bound : -1.0;
      }
      int64_t rejected = 0;
      for (int64_t i = 0; i < open; ++i) {
        out[counter[i] - first] = value[i];  // overwritten by a later attempt where this one fails
        counter[rejected] = counter[i];
        rejected += excess[i] > 0 ? 0 : 1;
      }
      open = rejected;
    }
    if (!boost) continue;
    fill_words(key, first + static_cast<uint64_t>(at), m, w);
    for (int64_t i = 0; i < whole_blocks(m); ++i)
      value[i] = inverse * log_positive(open_uniform(w.word[0][i], w.word[1][i]));
    for (int64_t i = 0; i < m; ++i) out[at + i] += value[i];
  }
}

}  // namespace

HTFM_DEFINE_KERNELS(RandomKernels, &uniform, &normal32, &normal64, &positive_stable, &log_gamma)

}  // namespace htfm
