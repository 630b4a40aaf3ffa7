#include "htfm/net/tile_kernels.h"

#include "htfm/base/math.h"

namespace htfm {
namespace {

constexpr int kLanes = kVectorBytes / 4;
typedef float Vec __attribute__((vector_size(kVectorBytes)));
typedef float VecUnaligned __attribute__((vector_size(kVectorBytes), aligned(4)));

[[gnu::always_inline]] inline Vec load(const float* p) { return *reinterpret_cast<const VecUnaligned*>(p); }
[[gnu::always_inline]] inline void store(float* p, Vec v) { *reinterpret_cast<VecUnaligned*>(p) = v; }
[[gnu::always_inline]] inline Vec splat(float x) { return x - Vec{}; }

#if defined(__AVX512F__)
constexpr int kRows = 8;  // rows of C held in registers, times two vectors
#elif defined(__AVX2__)
constexpr int kRows = 6;
#else
constexpr int kRows = 4;
#endif

template <int Rows, int Vectors>
[[gnu::always_inline]] inline void gemm_block(int64_t depth, const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t ldb, float* c,
                                              int64_t ldc, const float* bias, bool accumulate) {
  Vec sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) {
      sum[i][j] = accumulate ? load(c + i * ldc + j * kLanes) : Vec{};
      if (bias) sum[i][j] += bias[i];
    }
  for (int64_t k = 0; k < depth; ++k) {
    Vec row[Vectors];
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) row[j] = load(b + k * ldb + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const Vec s = splat(a[i * a_row + k * a_col]);
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j) sum[i][j] += s * row[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) store(c + i * ldc + j * kLanes, sum[i][j]);
}

template <int Rows, int Vectors>
[[gnu::noinline]] void gemm_rows(int64_t depth, const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t ldb, float* c, int64_t ldc,
                                 const float* bias, bool accumulate) {
  if (a_col == 1)  // two common layouts, so that address arithmetic folds
    gemm_block<Rows, Vectors>(depth, a, a_row, 1, b, ldb, c, ldc, bias, accumulate);
  else
    gemm_block<Rows, Vectors>(depth, a, 1, a_col, b, ldb, c, ldc, bias, accumulate);
}

template <int Vectors>
void gemm_panel(int64_t m, int64_t k, const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t ldb, float* c, int64_t ldc,
                const float* bias, bool accumulate) {
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows)
    gemm_rows<kRows, Vectors>(k, a + i * a_row, a_row, a_col, b, ldb, c + i * ldc, ldc, bias ? bias + i : nullptr, accumulate);
  for (; i + 2 <= m; i += 2)
    gemm_rows<2, Vectors>(k, a + i * a_row, a_row, a_col, b, ldb, c + i * ldc, ldc, bias ? bias + i : nullptr, accumulate);
  if (i < m) gemm_rows<1, Vectors>(k, a + i * a_row, a_row, a_col, b, ldb, c + i * ldc, ldc, bias ? bias + i : nullptr, accumulate);
}

void gemm(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t ldb, float* c, int64_t ldc,
          const float* bias, bool accumulate) {
  int64_t j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes) gemm_panel<2>(m, k, a, a_row, a_col, b + j, ldb, c + j, ldc, bias, accumulate);
  for (; j < n; j += kLanes) gemm_panel<1>(m, k, a, a_row, a_col, b + j, ldb, c + j, ldc, bias, accumulate);
}

[[gnu::always_inline]] inline float sum_lanes(Vec v) {
  float s = 0;
  for (int i = 0; i < kLanes; ++i) s += v[i];
  return s;
}

void add_inner_products(int64_t rows, int64_t cols, const float* a, const float* b, float* out) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      Vec s{};
      for (int64_t r = 0; r < kTile; r += kLanes) s += load(a + i * kTile + r) * load(b + j * kTile + r);
      out[i * cols + j] += sum_lanes(s);
    }
}

void add_row_sums(int64_t rows, const float* a, float* out) {
  for (int64_t i = 0; i < rows; ++i) {
    Vec s{};
    for (int64_t r = 0; r < kTile; r += kLanes) s += load(a + i * kTile + r);
    out[i] += sum_lanes(s);
  }
}

void transpose(int64_t rows, const float* tile, float* out, int64_t ld) {
  // Blocks of 8 x 8 keep both sides in few cache lines.
  constexpr int64_t block = 8;
  for (int64_t c = 0; c < rows; c += block) {
    const int64_t width = rows - c < block ? rows - c : block;
    for (int64_t r = 0; r < kTile; r += block)
      if (width == block)
        for (int64_t i = 0; i < block; ++i)
          for (int64_t j = 0; j < block; ++j) out[(r + i) * ld + c + j] = tile[(c + j) * kTile + r + i];
      else
        for (int64_t i = 0; i < block; ++i)
          for (int64_t j = 0; j < width; ++j) out[(r + i) * ld + c + j] = tile[(c + j) * kTile + r + i];
  }
}

typedef int32_t VecInt __attribute__((vector_size(kVectorBytes)));

// exp of math.h on a vector.
[[gnu::always_inline]] inline Vec exp_vec(Vec x) {
  x = x < -87.0f ? splat(-87.0f) : x;
  x = x > 88.0f ? splat(88.0f) : x;
  const Vec shifted = x * 1.44269504f + 12582912.0f;
  const Vec k = shifted - 12582912.0f;
  const Vec r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  Vec p = splat(0.000198909808698f);
  p = p * r + 0.0013933641032f;
  p = p * r + 0.00833331093445f;
  p = p * r + 0.041666465006f;
  p = p * r + 0.166666666816f;
  p = p * r + 0.500000001346f;
  p = p * (r * r) + r + 1.0f;
  const VecInt scale = ((VecInt)shifted - 0x4b400000 + 127) << 23;
  return p * (Vec)scale;
}

[[gnu::always_inline]] inline Vec sigmoid(Vec x) { return 1.0f / (1.0f + exp_vec(-x)); }

[[gnu::always_inline]] inline Vec square_root(Vec v) {
  Vec out;
  for (int i = 0; i < kLanes; ++i) out[i] = __builtin_sqrtf(v[i]);
  return out;
}

constexpr float kEpsilon = 1e-5f;

struct Modulation {
  Vec scale, shift;
};
[[gnu::always_inline]] inline Modulation modulation_at(const NormArgs& a, int64_t c, int64_t r) {
  Vec scale = splat(1.0f), shift{};
  if (a.modulation) scale += load(a.modulation + c * kTile + r), shift += load(a.modulation + (a.channels + c) * kTile + r);
  if (a.modulation_constant) scale += a.modulation_constant[c], shift += a.modulation_constant[a.channels + c];
  return {scale, shift};
}

void norm_forward(const NormArgs& a, float* y) {
  const int64_t size = a.channels / a.groups;
  const float inverse = 1.0f / static_cast<float>(size);
  for (int64_t g = 0; g < a.groups; ++g)
    for (int64_t r = 0; r < kTile; r += kLanes) {
      Vec mean{}, variance{};
      for (int64_t c = g * size; c < (g + 1) * size; ++c) mean += load(a.x + c * kTile + r);
      mean *= inverse;
      for (int64_t c = g * size; c < (g + 1) * size; ++c) {
        const Vec d = load(a.x + c * kTile + r) - mean;
        variance += d * d;
      }
      const Vec inverse_deviation = 1.0f / square_root(variance * inverse + kEpsilon);
      store(a.statistics + g * kTile + r, mean);
      store(a.statistics + (a.groups + g) * kTile + r, inverse_deviation);
      for (int64_t c = g * size; c < (g + 1) * size; ++c) {
        const Vec xhat = (load(a.x + c * kTile + r) - mean) * inverse_deviation;
        const Modulation m = modulation_at(a, c, r);
        const Vec z = (xhat * a.gamma[c] + a.beta[c]) * m.scale + m.shift;
        store(y + c * kTile + r, z * sigmoid(z));
      }
    }
}

void norm_backward(const NormArgs& a, const float* dy, float* dx, float* dgamma, float* dbeta, float* dmodulation) {
  const int64_t size = a.channels / a.groups;
  const float inverse = 1.0f / static_cast<float>(size);
  Vec sum_gamma[kMaxGroupSize], sum_beta[kMaxGroupSize], dxhat[kMaxGroupSize], normed[kMaxGroupSize];
  for (int64_t g = 0; g < a.groups; ++g) {
    for (int64_t i = 0; i < size; ++i) sum_gamma[i] = Vec{}, sum_beta[i] = Vec{};
    for (int64_t r = 0; r < kTile; r += kLanes) {
      const Vec mean = load(a.statistics + g * kTile + r), inverse_deviation = load(a.statistics + (a.groups + g) * kTile + r);
      Vec first{}, second{};
      for (int64_t i = 0; i < size; ++i) {
        const int64_t c = g * size + i;
        const Vec xhat = (load(a.x + c * kTile + r) - mean) * inverse_deviation;
        const Modulation m = modulation_at(a, c, r);
        const Vec n = xhat * a.gamma[c] + a.beta[c];
        const Vec z = n * m.scale + m.shift;
        const Vec s = sigmoid(z);
        const Vec dz = load(dy + c * kTile + r) * s * (1.0f + z * (1.0f - s));
        if (dmodulation) {
          store(dmodulation + c * kTile + r, dz * n);
          store(dmodulation + (a.channels + c) * kTile + r, dz);
        }
        const Vec dn = dz * m.scale;
        sum_gamma[i] += dn * xhat;
        sum_beta[i] += dn;
        const Vec d = dn * a.gamma[c];
        dxhat[i] = d;
        normed[i] = xhat;
        first += d;
        second += d * xhat;
      }
      first *= inverse, second *= inverse;
      for (int64_t i = 0; i < size; ++i) {
        float* out = dx + (g * size + i) * kTile + r;
        store(out, load(out) + inverse_deviation * (dxhat[i] - first - normed[i] * second));
      }
    }
    for (int64_t i = 0; i < size; ++i) {
      dgamma[g * size + i] += sum_lanes(sum_gamma[i]);
      dbeta[g * size + i] += sum_lanes(sum_beta[i]);
    }
  }
}

void silu_forward(int64_t rows, const float* x, float* y) {
  for (int64_t i = 0; i < rows * kTile; i += kLanes) {
    const Vec v = load(x + i);
    store(y + i, v * sigmoid(v));
  }
}

void silu_backward(int64_t rows, const float* x, const float* dy, float* dx) {
  for (int64_t i = 0; i < rows * kTile; i += kLanes) {
    const Vec v = load(x + i), s = sigmoid(v);
    store(dx + i, load(dy + i) * s * (1.0f + v * (1.0f - s)));
  }
}

void add(int64_t rows, const float* x, float* y) {
  for (int64_t i = 0; i < rows * kTile; i += kLanes) store(y + i, load(x + i) + load(y + i));
}

}  // namespace

HTFM_DEFINE_KERNELS(TileKernels, &gemm, &add_inner_products, &add_row_sums, &transpose, &norm_forward, &norm_backward, &silu_forward, &silu_backward,
                    &add)

}  // namespace htfm
