// The tile kernels of every instruction set that this machine has, against plain loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "htfm/base/random.h"
#include "htfm/net/tile_kernels.h"

namespace htfm {
namespace {

struct Case {
  const char* name;
  const TileKernels* table;
  int lanes;
};

std::vector<Case> tables() {
  std::vector<Case> all{{"base", &kernel_table<TileKernels, Isa::base>(), 4}};
#if defined(__x86_64__)
  if (isa() >= Isa::v3) all.push_back({"v3", &kernel_table<TileKernels, Isa::v3>(), 8});
  if (isa() >= Isa::v4) all.push_back({"v4", &kernel_table<TileKernels, Isa::v4>(), 16});
#endif
  return all;
}

std::vector<float> normals(const char* name, int64_t n, double scale = 1, double centre = 0) {
  std::vector<float> v(static_cast<size_t>(n));
  fill_normal(Key(11).child(name), 0, n, v.data());
  for (float& x : v) x = static_cast<float>(centre + scale * x);
  return v;
}

// float32 products and sums of `terms` numbers of order one, in any order: a random walk of rounding errors, times 6.
double rounding(int64_t terms) { return 6 * std::sqrt(static_cast<double>(terms)) * 6e-8; }

class Kernels : public testing::TestWithParam<Case> {
 protected:
  const TileKernels& k = *GetParam().table;
};

TEST_P(Kernels, GemmOfAllLayoutsAndRemainders) {
  const int64_t lanes = GetParam().lanes;
  for (const int64_t m : {1, 2, 3, 5, 6, 7, 8, 9, 13, 16, 19})
    for (const int64_t n : {lanes, 2 * lanes, 3 * lanes, int64_t{64}})
      for (const int64_t depth : {1, 2, 7, 64})
        for (const int layout : {0, 1, 2, 3, 4, 5, 6, 7}) {
          const bool transposed = layout & 1, with_bias = layout & 2, with_start = layout & 4;
          const int64_t ldb = n + 3, ldc = n + 5, lda = (transposed ? m : depth) + 2;
          const auto a = normals("a", (transposed ? depth : m) * lda), b = normals("b", depth * ldb),
                     bias = normals("bias", m);
          const auto start = normals("start", m * ldc);
          std::vector<float> c(static_cast<size_t>(m * ldc), -77);
          k.gemm(m, n, depth, a.data(), transposed ? 1 : lda, transposed ? lda : 1, b.data(), ldb, c.data(), ldc,
                 with_bias ? bias.data() : nullptr, with_start ? start.data() : nullptr);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < ldc; ++j) {
              double sum = (with_bias ? bias[i] : 0) + (with_start ? start[i * ldc + j] : 0);
              for (int64_t p = 0; p < depth && j < n; ++p)
                sum += static_cast<double>(a[transposed ? p * lda + i : i * lda + p]) * b[p * ldb + j];
              // Beyond column n nothing may be written.
              ASSERT_NEAR(c[i * ldc + j], j < n ? sum : -77, j < n ? 10 * rounding(depth + 2) : 0)
                  << m << " " << n << " " << depth << " " << layout;
            }
        }
}

TEST_P(Kernels, GemmMayStartFromItsOwnResult) {
  const auto a = normals("a", 9 * 12), b = normals("b", 12 * 64), start = normals("start", 9 * 64);
  std::vector<float> expected(9 * 64), c = start;
  k.gemm(9, 64, 12, a.data(), 12, 1, b.data(), 64, expected.data(), 64, nullptr, start.data());
  k.gemm(9, 64, 12, a.data(), 12, 1, b.data(), 64, c.data(), 64, nullptr, c.data());
  EXPECT_EQ(c, expected);
}

TEST_P(Kernels, InnerProductsAndRowSumsAdd) {
  for (const int64_t rows : {1, 3, 4, 8, 15, 16, 17, 40})
    for (const int64_t cols : {1, 2, 5}) {
      const auto a = normals("a", rows * kTile), b = normals("b", cols * kTile), start = normals("start", rows * cols),
                 sums_start = normals("sums", rows);
      std::vector<float> products = start, sums = sums_start;
      k.add_inner_products(rows, cols, a.data(), b.data(), products.data());
      k.add_row_sums(rows, a.data(), sums.data());
      for (int64_t i = 0; i < rows; ++i) {
        double sum = sums_start[i];
        for (int64_t r = 0; r < kTile; ++r) sum += a[i * kTile + r];
        ASSERT_NEAR(sums[i], sum, 10 * rounding(kTile));
        for (int64_t j = 0; j < cols; ++j) {
          double product = start[i * cols + j];
          for (int64_t r = 0; r < kTile; ++r) product += static_cast<double>(a[i * kTile + r]) * b[j * kTile + r];
          ASSERT_NEAR(products[i * cols + j], product, 10 * rounding(kTile)) << rows << " " << cols;
        }
      }
    }
}

TEST_P(Kernels, SumOfPartsIsInOrder) {
  const int64_t stride = 80;
  for (const int64_t parts : {1, 2, 5}) {
    const auto in = normals("in", parts * stride);
    std::vector<float> out(static_cast<size_t>(stride), -77);
    k.sum_parts(parts, stride, 48, in.data(), out.data());
    for (int64_t i = 0; i < stride; ++i) {
      float sum = in[i];
      for (int64_t p = 1; p < parts; ++p) sum += in[p * stride + i];
      ASSERT_EQ(out[i], i < 48 ? sum : -77);
    }
  }
}

TEST_P(Kernels, TransposeIsExact) {
  for (const int64_t rows : {1, 2, 4, 5, 8, 15, 16, 17, 31, 48, 160}) {
    const int64_t ld = rows + 3;
    const auto tile = normals("tile", rows * kTile);
    std::vector<float> out(static_cast<size_t>(kTile * ld), -77);
    k.transpose(rows, tile.data(), out.data(), ld);
    for (int64_t r = 0; r < kTile; ++r)
      for (int64_t c = 0; c < ld; ++c) ASSERT_EQ(out[r * ld + c], c < rows ? tile[c * kTile + r] : -77) << rows;
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }
double silu_derivative(double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }

TEST_P(Kernels, SiluOnTheWholeLine) {
  std::vector<float> x(5 * kTile), y(x.size()), dx(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * (static_cast<float>(i) - 160);
  const std::vector<float> extremes{0.0f,  -0.0f, 50,     -50,   86,     -86,    90,      -90,     1000,
                                    -1000, 1e30f, -1e30f, 3e38f, -3e38f, 1e-30f, -1e-30f, INFINITY};
  std::copy(extremes.begin(), extremes.end(), x.begin());
  const auto dy = normals("dy", 5 * kTile);
  k.silu_forward(5, x.data(), y.data());
  k.silu_backward(5, x.data(), dy.data(), dx.data());
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isinf(x[i])) {
      EXPECT_EQ(y[i], INFINITY);
      continue;
    }
    ASSERT_NEAR(y[i], silu(x[i]), 1e-6 * std::max(1.0, std::abs(silu(x[i])))) << x[i];
    ASSERT_NEAR(dx[i], dy[i] * silu_derivative(x[i]), 1e-6 * std::abs(dy[i])) << x[i];
  }
  x[3] = NAN;
  k.silu_forward(5, x.data(), y.data());
  k.silu_backward(5, x.data(), dy.data(), dx.data());
  EXPECT_TRUE(std::isnan(y[3]) && std::isnan(dx[3]));
  EXPECT_TRUE(std::isfinite(y[2]) && std::isfinite(dx[2]));
}

// y = silu((1 + scale) (gamma xhat + beta) + shift) and its derivatives, sample by sample.
struct NormReference {
  std::vector<double> y, dx, dgamma, dbeta, dmodulation;

  NormReference(const NormArgs& a, const float* dy) {
    const int64_t channels = a.channels, size = channels / a.groups, n = channels * kTile;
    y.resize(n), dx.resize(n), dmodulation.resize(2 * n), dgamma.resize(channels), dbeta.resize(channels);
    for (int64_t g = 0; g < a.groups; ++g)
      for (int64_t r = 0; r < kTile; ++r) {
        double mean = 0, variance = 0, first = 0, second = 0;
        for (int64_t c = g * size; c < (g + 1) * size; ++c) mean += a.x[c * kTile + r] / static_cast<double>(size);
        for (int64_t c = g * size; c < (g + 1) * size; ++c)
          variance += std::pow(a.x[c * kTile + r] - mean, 2) / static_cast<double>(size);
        const double inverse = 1 / std::sqrt(variance + 1e-5);
        std::vector<double> dxhat(static_cast<size_t>(size)), xhat(dxhat);
        for (int64_t i = 0; i < size; ++i) {
          const int64_t c = g * size + i, at = c * kTile + r;
          double scale = 1, shift = 0;
          if (a.modulation) scale += a.modulation[at], shift += a.modulation[n + at];
          if (a.modulation_constant) scale += a.modulation_constant[c], shift += a.modulation_constant[channels + c];
          xhat[i] = (a.x[at] - mean) * inverse;
          const double normed = a.gamma[c] * xhat[i] + a.beta[c], z = scale * normed + shift,
                       dz = dy[at] * silu_derivative(z);
          y[at] = silu(z);
          dmodulation[at] = dz * normed, dmodulation[n + at] = dz;
          dgamma[c] += dz * scale * xhat[i], dbeta[c] += dz * scale;
          dxhat[i] = dz * scale * a.gamma[c];
          first += dxhat[i] / static_cast<double>(size), second += dxhat[i] * xhat[i] / static_cast<double>(size);
        }
        for (int64_t i = 0; i < size; ++i)
          dx[(g * size + i) * kTile + r] = inverse * (dxhat[i] - first - xhat[i] * second);
      }
  }
};

void expect_near(const std::vector<float>& got, const std::vector<double>& expected, double tolerance, const char* what,
                 int64_t channels) {
  double largest = 1;
  for (const double e : expected) largest = std::max(largest, std::abs(e));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * largest) << what << " of " << channels << " channels";
}

TEST_P(Kernels, NormForwardAndBackward) {
  const struct {
    int64_t channels, groups;
  } sizes[] = {{64, 8}, {8, 1}, {64, 1}, {48, 6}, {20, 4}, {5, 5}, {66, 2}, {24, 8}};
  for (const auto [channels, groups] : sizes)
    for (const int kind : {0, 1, 2, 3}) {
      const auto x = normals("x", channels * kTile, 2, 0.5), gamma = normals("gamma", channels, 0.3, 1),
                 beta = normals("beta", channels, 0.3);
      const auto modulation = normals("modulation", 2 * channels * kTile, 0.5),
                 constant = normals("constant", 2 * channels, 0.5);
      const auto dy = normals("dy", channels * kTile), start = normals("start", channels * kTile);
      std::vector<float> statistics(static_cast<size_t>(2 * groups * kTile)), y(x.size()), dx(x.size(), NAN),
          dmodulation(modulation.size(), NAN);
      const NormArgs args{channels,
                          groups,
                          x.data(),
                          gamma.data(),
                          beta.data(),
                          kind & 1 ? modulation.data() : nullptr,
                          kind & 2 ? constant.data() : nullptr,
                          statistics.data()};
      const NormReference expected(args, dy.data());
      // A group of one channel has no spread, so that 1 / deviation = 316 magnifies what rounding leaves.
      const double tolerance = channels == groups ? 1e-4 : 2e-6;
      k.norm_forward(args, y.data());
      expect_near(y, expected.y, tolerance, "y", channels);

      std::vector<float> dgamma(gamma.size(), 0.0f), dbeta(gamma.size(), 0.0f);
      k.norm_backward(args, dy.data(), nullptr, dx.data(), dgamma.data(), dbeta.data(),
                      kind & 1 ? dmodulation.data() : nullptr);
      expect_near(dx, expected.dx, tolerance, "dx", channels);
      expect_near(dgamma, expected.dgamma, tolerance, "dgamma", channels);
      expect_near(dbeta, expected.dbeta, tolerance, "dbeta", channels);
      if (kind & 1) expect_near(dmodulation, expected.dmodulation, tolerance, "dmodulation", channels);

      // With a start, dx adds to it in place, and the sums go on from where they were.
      std::vector<float> added = start, dgamma2 = dgamma, dbeta2 = dbeta;
      k.norm_backward(args, dy.data(), added.data(), added.data(), dgamma2.data(), dbeta2.data(), nullptr);
      for (size_t i = 0; i < added.size(); ++i)
        ASSERT_NEAR(added[i], start[i] + dx[i], 1e-6 * std::max(1.0f, std::abs(start[i]) + std::abs(dx[i])));
      for (size_t i = 0; i < dgamma.size(); ++i) {
        ASSERT_EQ(dgamma2[i], dgamma[i] + dgamma[i]);
        ASSERT_EQ(dbeta2[i], dbeta[i] + dbeta[i]);
      }
    }
}

// Two samples with equal channels, one huge in mean: the norm removes the mean, whatever its size in float32.
TEST_P(Kernels, NormOfConstantAndLargeInputs) {
  const std::vector<float> gamma(8, 1.0f), beta(8, 0.25f);
  std::vector<float> x(8 * kTile), y(x.size()), statistics(2 * kTile);
  for (int64_t c = 0; c < 8; ++c)
    for (int64_t r = 0; r < kTile; ++r)
      x[c * kTile + r] = r == 0 ? 0.0f : r == 1 ? 1e6f : r == 2 ? 1e15f * (c % 2 == 0 ? 1.0f : -1.0f) : 1.0f;
  k.norm_forward({8, 1, x.data(), gamma.data(), beta.data(), nullptr, nullptr, statistics.data()}, y.data());
  for (int64_t c = 0; c < 8; ++c) {
    for (const int64_t r : {0, 1, 3}) ASSERT_NEAR(y[c * kTile + r], silu(0.25), 1e-6);
    ASSERT_NEAR(y[c * kTile + 2], silu((c % 2 == 0 ? 1.0 : -1.0) + 0.25), 2e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Net, Kernels, testing::ValuesIn(tables()),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace htfm
