#include "htfm/net/tile_kernels.h"

#include "htfm/net/sigmoid_kernels.h"

namespace htfm {
namespace {

using Vec = Vector<float>;
constexpr int kLanes = kLanesOf<float>;

// The block of C held in registers: kSums vectors, as kWide columns of them where C is wide enough.
#if defined(__AVX512F__)
constexpr int kSums = 16, kWide = 4;
#elif defined(__AVX2__)
constexpr int kSums = 12, kWide = 2;
#else
constexpr int kSums = 8, kWide = 2;
#endif

template <int Rows, int Vectors>
[[gnu::always_inline]] inline void gemm_block(int64_t depth, const float* a, int64_t a_row, int64_t a_col,
                                              const float* b, int64_t ldb, float* c, int64_t ldc, const float* bias,
                                              const float* start) {
  Vec sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) {
      sum[i][j] = start ? load(start + i * ldc + j * kLanes) : Vec{};
      if (bias) sum[i][j] += bias[i];
    }
  for (int64_t k = 0; k < depth; ++k) {
    Vec row[Vectors];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) row[j] = load(b + k * ldb + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vec s = splat(a[i * a_row + k * a_col]);
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sum[i][j] += s * row[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) store(c + i * ldc + j * kLanes, sum[i][j]);
}

template <int Rows, int Vectors>
[[gnu::noinline]] void gemm_rows(int64_t depth, const float* a, int64_t a_row, int64_t a_col, const float* b,
                                 int64_t ldb, float* c, int64_t ldc, const float* bias, const float* start) {
  if (a_col == 1)  // two common layouts, so that address arithmetic folds
    gemm_block<Rows, Vectors>(depth, a, a_row, 1, b, ldb, c, ldc, bias, start);
  else
    gemm_block<Rows, Vectors>(depth, a, 1, a_col, b, ldb, c, ldc, bias, start);
}

// All rows of C for a few vectors of columns: blocks of Rows rows, then of half as many, down to one.
template <int Rows, int Vectors>
void gemm_panel(int64_t m, int64_t k, const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t ldb,
                float* c, int64_t ldc, const float* bias, const float* start) {
  int64_t i = 0;
  for (; i + Rows <= m; i += Rows)
    gemm_rows<Rows, Vectors>(k, a + i * a_row, a_row, a_col, b, ldb, c + i * ldc, ldc, bias ? bias + i : nullptr,
                             start ? start + i * ldc : nullptr);
  if constexpr (Rows > 1)
    if (i < m)
      gemm_panel<Rows / 2, Vectors>(m - i, k, a + i * a_row, a_row, a_col, b, ldb, c + i * ldc, ldc,
                                    bias ? bias + i : nullptr, start ? start + i * ldc : nullptr);
}

template <int Vectors>
void gemm_from(int64_t j, int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_col, const float* b,
               int64_t ldb, float* c, int64_t ldc, const float* bias, const float* start) {
  for (; j + Vectors * kLanes <= n; j += Vectors * kLanes)
    gemm_panel<kSums / Vectors, Vectors>(m, k, a, a_row, a_col, b + j, ldb, c + j, ldc, bias,
                                         start ? start + j : nullptr);
  if constexpr (Vectors > 1)
    if (j < n) gemm_from<Vectors / 2>(j, m, n, k, a, a_row, a_col, b, ldb, c, ldc, bias, start);
}

void gemm(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t ldb,
          float* c, int64_t ldc, const float* bias, const float* start) {
  gemm_from<kWide>(0, m, n, k, a, a_row, a_col, b, ldb, c, ldc, bias, start);
}

// Lane i of the result is the sum of the lanes of row i. Only rows below 2 * Step count; they are overwritten.
template <int Step>
[[gnu::always_inline]] inline Vec sum_square(Vec* rows) {
  if constexpr (Step == 0) {
    return rows[0];
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < Step; ++i) {
      swap_blocks<float, Step>(rows[i], rows[i + Step]);
      rows[i] += rows[i + Step];
    }
    return sum_square<Step / 2>(rows);
  }
}

[[gnu::always_inline]] inline float sum_lanes(Vec v) {
  Vec rows[kLanes] = {v};
  return sum_square<kLanes / 2>(rows)[0];
}

[[gnu::always_inline]] inline Vec inner_product(const float* a, const float* b) {
  Vec s{};
#pragma GCC unroll 4
  for (int64_t r = 0; r < kTile; r += kLanes) s += load(a + r) * load(b + r);
  return s;
}

void add_inner_products(int64_t rows, int64_t cols, const float* a, const float* b, float* out) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) out[i * cols + j] += sum_lanes(inner_product(a + i * kTile, b + j * kTile));
}

[[gnu::always_inline]] inline Vec row_sum(const float* row) {
  Vec s[2] = {};
#pragma GCC unroll 4
  for (int r = 0; r < kTile / kLanes; ++r) s[r % 2] += load(row + r * kLanes);
  return s[0] + s[1];
}

void add_row_sums(int64_t rows, const float* a, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    Vec sums[kLanes];
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j) sums[j] = row_sum(a + (i + j) * kTile);
    store(out + i, load(out + i) + sum_square<kLanes / 2>(sums));
  }
  for (; i < rows; ++i) out[i] += sum_lanes(row_sum(a + i * kTile));
}

void transpose(int64_t rows, const float* tile, float* out, int64_t ld) {
  int64_t c = 0;
  for (; c + kLanes <= rows; c += kLanes)
    for (int64_t r = 0; r < kTile; r += kLanes) {
      Vec square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) square[i] = load(tile + (c + i) * kTile + r);
      transpose_square<float>(square);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) store(out + (r + i) * ld + c, square[i]);
    }
  for (; c < rows; ++c)
    for (int64_t r = 0; r < kTile; ++r) out[r * ld + c] = tile[c * kTile + r];
}

[[gnu::always_inline]] inline Vec inverse_square_root(Vec v) {
#if defined(__AVX512F__)
  return 1.0f / (Vec)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
  return 1.0f / (Vec)_mm256_sqrt_ps((__m256)v);
#else
  for (int i = 0; i < kLanes; ++i) v[i] = __builtin_sqrtf(v[i]);
  return 1.0f / v;
#endif
}

constexpr int kVectors = kTile / kLanes;

struct Modulation {
  Vec scale, shift;
};
[[gnu::always_inline]] inline Modulation modulation_at(const NormArgs& a, int64_t c, int64_t r) {
  Vec scale = splat(1.0f), shift{};
  if (a.modulation)
    scale += load(a.modulation + c * kTile + r), shift += load(a.modulation + (a.channels + c) * kTile + r);
  if (a.modulation_constant) scale += a.modulation_constant[c], shift += a.modulation_constant[a.channels + c];
  return {scale, shift};
}

// Size is the number of channels of a group where it is known, so that a group stays in registers; 0 otherwise.
template <int Size>
void norm_forward_of(const NormArgs& a, float* y) {
  const int64_t size = Size ? Size : a.channels / a.groups;
  const float inverse = 1.0f / static_cast<float>(size);
  // All statistics first: the long chain of one group then hides behind the others.
  for (int64_t g = 0; g < a.groups; ++g)
    for (int64_t r = 0; r < kTile; r += kLanes) {
      const float* x = a.x + g * size * kTile + r;
      Vec sum[2] = {}, square[2] = {};
#pragma GCC unroll 8
      for (int64_t i = 0; i < size; ++i) sum[i % 2] += load(x + i * kTile);
      const Vec mean = (sum[0] + sum[1]) * inverse;
#pragma GCC unroll 8
      for (int64_t i = 0; i < size; ++i) {
        const Vec d = load(x + i * kTile) - mean;
        square[i % 2] += d * d;
      }
      store(a.statistics + g * kTile + r, mean);
      store(a.statistics + (a.groups + g) * kTile + r,
            inverse_square_root((square[0] + square[1]) * inverse + kNormEpsilon));
    }
  for (int64_t g = 0; g < a.groups; ++g) {
    Vec mean[kVectors], inverse_deviation[kVectors];
    for (int v = 0; v < kVectors; ++v) mean[v] = load(a.statistics + g * kTile + v * kLanes);
    for (int v = 0; v < kVectors; ++v) inverse_deviation[v] = load(a.statistics + (a.groups + g) * kTile + v * kLanes);
    for (int64_t c = g * size; c < (g + 1) * size; ++c) {
      const Vec gamma = splat(a.gamma[c]), beta = splat(a.beta[c]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Modulation m = modulation_at(a, c, v * kLanes);
        const Vec xhat = (load(a.x + c * kTile + v * kLanes) - mean[v]) * inverse_deviation[v];
        const Vec z = (xhat * gamma + beta) * m.scale + m.shift;
        store(y + c * kTile + v * kLanes, z * sigmoid(z));
      }
    }
  }
}

void norm_forward(const NormArgs& a, float* y) {
  a.channels == 8 * a.groups ? norm_forward_of<8>(a, y) : norm_forward_of<0>(a, y);
}

template <int Size>
void norm_backward_of(const NormArgs& a, const float* dy, const float* start, float* dx, float* dgamma, float* dbeta,
                      float* dmodulation) {
  const int64_t size = Size ? Size : a.channels / a.groups;
  const float inverse = 1.0f / static_cast<float>(size);
  constexpr int kChannels = Size ? Size : kMaxGroupSize;
  Vec dxhat[kChannels][kVectors], sums[2 * kChannels + kLanes - 1] = {};  // gamma then beta, up to whole squares
  float total[2 * kChannels + kLanes - 1];
  for (int64_t g = 0; g < a.groups; ++g) {
    Vec mean[kVectors], inverse_deviation[kVectors], first[kVectors] = {}, second[kVectors] = {};
    for (int v = 0; v < kVectors; ++v) mean[v] = load(a.statistics + g * kTile + v * kLanes);
    for (int v = 0; v < kVectors; ++v) inverse_deviation[v] = load(a.statistics + (a.groups + g) * kTile + v * kLanes);
    for (int64_t i = 0; i < size; ++i) {
      const int64_t c = g * size + i;
      const Vec gamma = splat(a.gamma[c]), beta = splat(a.beta[c]);
      Vec sum_gamma{}, sum_beta{};
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int64_t r = c * kTile + v * kLanes;
        const Vec xhat = (load(a.x + r) - mean[v]) * inverse_deviation[v];
        const Modulation m = modulation_at(a, c, v * kLanes);
        const Vec n = xhat * gamma + beta;
        const Vec z = n * m.scale + m.shift;
        const Vec s = sigmoid(z);
        const Vec dz = (load(dy + r) * s) * (z * (1.0f - s) + 1.0f);
        if (dmodulation) {
          store(dmodulation + r, dz * n);
          store(dmodulation + a.channels * kTile + r, dz);
        }
        const Vec dn = dz * m.scale;
        sum_gamma += dn * xhat;
        sum_beta += dn;
        const Vec d = dn * gamma;
        dxhat[i][v] = d;
        first[v] += d;
        second[v] += d * xhat;
      }
      sums[i] = sum_gamma, sums[size + i] = sum_beta;
    }
    for (int64_t i = 0; i < 2 * size; i += kLanes) store(total + i, sum_square<kLanes / 2>(sums + i));
    for (int64_t i = 0; i < size; ++i) dgamma[g * size + i] += total[i], dbeta[g * size + i] += total[size + i];
    for (int v = 0; v < kVectors; ++v) first[v] *= inverse, second[v] *= inverse;
    for (int64_t i = 0; i < size; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int64_t r = (g * size + i) * kTile + v * kLanes;
        const Vec xhat = (load(a.x + r) - mean[v]) * inverse_deviation[v];
        const Vec d = inverse_deviation[v] * (dxhat[i][v] - first[v] - xhat * second[v]);
        store(dx + r, start ? load(start + r) + d : d);
      }
  }
}

void norm_backward(const NormArgs& a, const float* dy, const float* start, float* dx, float* dgamma, float* dbeta,
                   float* dmodulation) {
  if (a.channels == 8 * a.groups)
    norm_backward_of<8>(a, dy, start, dx, dgamma, dbeta, dmodulation);
  else
    norm_backward_of<0>(a, dy, start, dx, dgamma, dbeta, dmodulation);
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

void sum_parts(int64_t parts, int64_t stride, int64_t count, const float* in, float* out) {
  for (int64_t i = 0; i < count; i += kLanes) {
    Vec s = load(in + i);
    for (int64_t part = 1; part < parts; ++part) s += load(in + part * stride + i);
    store(out + i, s);
  }
}

}  // namespace

HTFM_DEFINE_KERNELS(TileKernels, &gemm, &add_inner_products, &add_row_sums, &transpose, &norm_forward, &norm_backward,
                    &silu_forward, &silu_backward, &sum_parts)

}  // namespace htfm
