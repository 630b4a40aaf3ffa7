// Random numbers: known answers, kernels against the scalar definition, independence of layout and threads, laws.
#include "htfm/base/random.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numbers>
#include <numeric>
#include <set>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/random_kernels.h"
#include "test/statistics.h"

namespace htfm {
namespace {

using test::kKolmogorovBound;
using test::kolmogorov_smirnov;

std::vector<std::pair<Isa, const RandomKernels*>> tables() {
  std::vector<std::pair<Isa, const RandomKernels*>> out{{Isa::base, &kernel_table<RandomKernels, Isa::base>()}};
#if defined(__x86_64__)
  if (isa() >= Isa::v3) out.emplace_back(Isa::v3, &kernel_table<RandomKernels, Isa::v3>());
  if (isa() >= Isa::v4) out.emplace_back(Isa::v4, &kernel_table<RandomKernels, Isa::v4>());
#endif
  return out;
}

// The definition of a uniform number from two random words.
double open_uniform(uint32_t high, uint32_t low) {
  return static_cast<double>(((static_cast<uint64_t>(high) << 32) | low) >> 12) * 0x1p-52 + 0x1p-53;
}

TEST(Philox, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ull, ~0ull, ~0ull), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Key, ElementsAreWordsOfPhilox) {
  EXPECT_EQ(Key(0).bits(0), 0x6627e8d5e169c58dull);
  const Key key(17);
  for (uint64_t i = 0; i < 1000; ++i) {
    const auto w = philox(17, i);
    ASSERT_EQ(key.bits(i), (static_cast<uint64_t>(w[0]) << 32) | w[1]);
    ASSERT_EQ(key.uniform(i), open_uniform(w[0], w[1]));
  }
}

TEST(Key, UniformNumbersLieInTheOpenInterval) {
  EXPECT_EQ(open_uniform(0, 0), 0x1p-53);
  EXPECT_EQ(open_uniform(~0u, ~0u), 1 - 0x1p-53);
}

TEST(Key, ChildrenAreDistinctStreams) {
  const Key key(3);
  std::set<uint64_t> seen{key.value()};
  for (uint64_t tag = 0; tag < 10'000; ++tag) seen.insert(key.child(tag).value());
  for (const char* name : {"", "a", "b", "ab", "ba", "order", "clock"}) seen.insert(key.child(name).value());
  for (uint64_t tag = 0; tag < 100; ++tag) seen.insert(key.child(1).child(tag).value());
  EXPECT_EQ(seen.size(), 1 + 10'000 + 7 + 100);
  EXPECT_EQ(key.child("clock").value(), Key(3).child("clock").value());
}

TEST(Key, BelowIsUniform) {
  const Key key(5);
  constexpr uint64_t n = 600'000;
  for (const uint64_t bound : {1ull, 2ull, 6ull, 10ull}) {
    std::vector<double> count(bound);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t k = key.below(bound, i);
      ASSERT_LT(k, bound);
      ++count[k];
    }
    const double p = 1.0 / static_cast<double>(bound);
    for (const double c : count) EXPECT_NEAR(c, n * p, 4 * std::sqrt(n * p * (1 - p)));
  }
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_LT(key.below(~0ull, i), ~0ull);
}

TEST(Kernels, UniformEqualsTheScalarFunctionOnEveryInstructionSet) {
  const Key key(7);
  for (const uint64_t first : {0ull, 5ull, (1ull << 32) - 3, ~0ull - 100}) {
    std::vector<double> x(1000);
    for (const auto& [isa, kernel] : tables()) {
      kernel->uniform(key.value(), first, 1000, x.data());
      for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(x[i], key.uniform(first + i)) << static_cast<int>(isa);
    }
  }
}

// Box and Muller in long double; |z| < 8.6, and its factors round about ten times.
TEST(Kernels, NormalEqualsTheFormulaOnEveryInstructionSet) {
  constexpr int64_t n = 4001;
  std::vector<double> x(n);
  std::vector<float> y(n);
  for (const auto& [isa, kernel] : tables()) {
    kernel->normal64(11, 3, n, x.data());
    kernel->normal32(11, 3, n, y.data());
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t index = static_cast<uint64_t>(i) + 3;
      const auto w = philox(11, index / 2);
      const long double r = std::sqrt(-2 * std::log(static_cast<long double>(open_uniform(w[0], w[1]))));
      const long double angle = 2 * std::numbers::pi_v<long double> * open_uniform(w[2], w[3]);
      ASSERT_NEAR(x[i], static_cast<double>(r * (index % 2 ? std::cos(angle) : std::sin(angle))), 86 * 0x1p-53)
          << static_cast<int>(isa);
      ASSERT_EQ(y[i], static_cast<float>(x[i]));
    }
  }
}

// Kanter's formula itself is checked in base_math_test; here its inputs. The bound is the one derived there, at rho =
// 0.25.
TEST(Kernels, StableEqualsTheFormulaOnEveryInstructionSet) {
  constexpr int64_t n = 4001;
  const long double pi = std::numbers::pi_v<long double>, rho = 0.25L;
  std::vector<double> x(n);
  for (const auto& [isa, kernel] : tables()) {
    kernel->positive_stable(13, 0.25, std::log(3.0), 5, n, x.data());
    for (int64_t i = 0; i < n; ++i) {
      const auto w = philox(13, static_cast<uint64_t>(i) + 5);
      const long double u = 1.0L - open_uniform(w[0], w[1]),
                        e = -std::log(static_cast<long double>(open_uniform(w[2], w[3])));
      const long double a = std::sin(pi * rho * u), b = std::sin(pi * (1 - u)), c = std::sin(pi * (1 - rho) * u);
      const long double exact = 3 * a / std::pow(b, 1 / rho) * std::pow(c / e, (1 - rho) / rho);
      const double bound = 0x1p-52 * (20 * (1 + std::abs(static_cast<double>(std::log(c / (e * b))))) + 12);
      ASSERT_NEAR(static_cast<double>(x[i] / exact), 1, bound) << static_cast<int>(isa);
    }
  }
}

// A rejection decided by the last bit may differ between instruction sets; nothing else may.
TEST(Kernels, GammaAgreesBetweenInstructionSets) {
  constexpr int64_t n = 20'000;
  for (const double shape : {0.05, 0.85, 1.0, 40.0}) {
    std::vector<double> x(n), y(n);
    kernel_table<RandomKernels, Isa::base>().log_gamma(19, shape, 0, n, x.data());
    for (const auto& [isa, kernel] : tables()) {
      kernel->log_gamma(19, shape, 0, n, y.data());
      int differ = 0;
      for (size_t i = 0; i < n; ++i) differ += std::abs(x[i] - y[i]) > 1e-13 * (1 + std::abs(x[i]));
      EXPECT_LE(differ, 1) << static_cast<int>(isa) << ' ' << shape;
    }
  }
}

TEST(Kernels, AnElementDoesNotDependOnWhereAFillStarts) {
  constexpr int64_t n = 1500;
  const auto check = [=](const auto& fill, auto zero, const char* what) {
    using T = decltype(zero);
    std::vector<T> whole(n), part(n);
    fill(uint64_t{1000}, n, whole.data());
    for (const int64_t start : {0, 1, 2, 3, 7, 8, 15, 16, 255, 256, 257, 511, 513, 1000})
      for (const int64_t count : {0, 1, 2, 5, 8, 17, 256, 257, 400}) {
        std::fill(part.begin(), part.end(), T(-1));
        fill(1000 + static_cast<uint64_t>(start), count, part.data());
        for (int64_t i = 0; i < count; ++i)
          ASSERT_EQ(part[i], whole[start + i]) << what << ' ' << start << ' ' << count << ' ' << i;
        ASSERT_EQ(part[count], T(-1)) << what << " wrote past the end";
      }
  };
  for (const auto& table : tables()) {
    const RandomKernels& k = *table.second;
    check([&](uint64_t first, int64_t m, double* out) { k.uniform(23, first, m, out); }, 0.0, "uniform");
    check([&](uint64_t first, int64_t m, double* out) { k.normal64(23, first, m, out); }, 0.0, "normal64");
    check([&](uint64_t first, int64_t m, float* out) { k.normal32(23, first, m, out); }, 0.0f, "normal32");
    check([&](uint64_t first, int64_t m, double* out) { k.positive_stable(23, 0.8, 0.1, first, m, out); }, 0.0,
          "stable");
    check([&](uint64_t first, int64_t m, double* out) { k.log_gamma(23, 0.4, first, m, out); }, 0.0, "gamma");
    check([&](uint64_t first, int64_t m, double* out) { k.log_gamma(23, 1.4, first, m, out); }, 0.0, "gamma");
  }
}

TEST(Fill, DoesNotDependOnTheNumberOfThreads) {
  constexpr int64_t n = 200'003;
  const auto draw = [] {
    std::vector<double> x(5 * n);
    std::vector<float> y(n);
    const Key key(29);
    fill_uniform(key, 1, n, x.data());
    fill_normal(key, 1, n, x.data() + n);
    fill_positive_stable(key, 0.7, 2, 1, n, x.data() + 2 * n);
    fill_log_gamma_draw(key, 0.7, 1, n, x.data() + 3 * n);
    fill_normal(key, 1, n, y.data());
    std::copy(y.begin(), y.end(), x.begin() + 4 * n);
    return x;
  };
  set_thread_count(1);
  const std::vector<double> one = draw();
  for (const int threads : {2, 3, 8}) {
    set_thread_count(threads);
    EXPECT_EQ(one, draw()) << threads;
  }
  set_thread_count(0);
}

TEST(Law, Uniform) {
  std::vector<double> x(1'000'000);
  fill_uniform(Key(31), 0, 1'000'000, x.data());
  EXPECT_LT(kolmogorov_smirnov(x, [](double v) { return v; }), kKolmogorovBound);
  EXPECT_GT(x.front(), 0);
  EXPECT_LT(x.back(), 1);
}

TEST(Law, Normal) {
  constexpr int64_t n = 1'000'000;
  std::vector<double> x(n);
  fill_normal(Key(37), 0, n, x.data());
  double mean = 0, square = 0, fourth = 0, pair = 0, pair_of_squares = 0;
  for (int64_t i = 0; i < n; ++i) mean += x[i], square += x[i] * x[i], fourth += std::pow(x[i], 4);
  // The two normals of one block share their radius: products and products of squares would show it.
  for (int64_t i = 0; i < n; i += 2)
    pair += x[i] * x[i + 1], pair_of_squares += (x[i] * x[i] - 1) * (x[i + 1] * x[i + 1] - 1);
  EXPECT_NEAR(mean / n, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(square / n, 1, 4 * std::sqrt(2.0 / n));
  EXPECT_NEAR(fourth / n, 3, 4 * std::sqrt(96.0 / n));
  constexpr double pairs = n / 2.0;
  EXPECT_NEAR(pair / pairs, 0, 4 / std::sqrt(pairs));
  EXPECT_NEAR(pair_of_squares / pairs, 0, 4 * 2 / std::sqrt(pairs));
  EXPECT_LT(kolmogorov_smirnov(x, test::normal_cdf), kKolmogorovBound);
}

TEST(Law, StableOfOrderHalfIsLevy) {
  constexpr int64_t n = 1'000'000;
  std::vector<double> x(n);
  fill_positive_stable(Key(41), 0.5, 3, 0, n, x.data());
  EXPECT_LT(kolmogorov_smirnov(x, [](double v) { return std::erfc(0.5 * std::sqrt(3 / v)); }), kKolmogorovBound);
}

TEST(Law, StableLaplaceTransform) {
  constexpr int64_t n = 1'000'000;
  std::vector<double> x(n);
  for (const double rho : {0.05, 0.25, 0.5, 0.75, 0.95, 0.999}) {
    fill_positive_stable(Key(43), rho, 2, 0, n, x.data());
    for (const double s : {0.1, 1.0, 10.0}) {
      double sum = 0;
      for (const double v : x) sum += std::exp(-s * v);
      const double mean = std::exp(-std::pow(2 * s, rho)), square = std::exp(-std::pow(4 * s, rho));
      EXPECT_NEAR(sum / n, mean, 4 * std::sqrt((square - mean * mean) / n)) << rho << ' ' << s;
    }
  }
}

TEST(Law, StableOfOrderOneIsItsScale) {
  std::vector<double> x(100);
  fill_positive_stable(Key(1), 1, 2.5, 0, 100, x.data());
  EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](double v) { return v == 2.5; }));
  for (const double rho : {0.0, -0.5, 1.5, std::nan("")})
    EXPECT_THROW(fill_positive_stable(Key(1), rho, 1, 0, 100, x.data()), InputError);
}

TEST(Law, AHundredMillionStableDrawsAreFinite) {
  constexpr int64_t n = 100'000'000;
  std::atomic<int64_t> bad = 0;
  parallel_ranges(n, 1 << 14, [&](int64_t begin, int64_t end) {
    std::vector<double> x(static_cast<size_t>(end - begin));
    fill_positive_stable(Key(47), 0.25, 1, static_cast<uint64_t>(begin), end - begin, x.data());
    bad += std::count_if(x.begin(), x.end(),
                         [](double v) { return !(v > 0 && v < std::numeric_limits<double>::infinity()); });
  });
  EXPECT_EQ(bad, 0);
}

TEST(Law, Gamma) {
  constexpr int64_t n = 200'000;
  std::vector<double> x(n);
  for (const double shape : {0.05, 0.25, 0.85, 1.0, 1.5, 5.0, 50.0}) {
    fill_log_gamma_draw(Key(53), shape, 0, n, x.data());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
    EXPECT_NEAR(mean, test::digamma(shape), 4 * std::sqrt(test::trigamma(shape) / n)) << shape;
    EXPECT_LT(kolmogorov_smirnov(x, [&](double v) { return test::incomplete_gamma(shape, v); }), kKolmogorovBound)
        << shape;
  }
  for (const double shape : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_THROW(fill_log_gamma_draw(Key(1), shape, 0, n, x.data()), InputError);
}

// The comparisons above are worth what these functions are: values from tables and closed forms.
TEST(Law, ReferenceFunctions) {
  EXPECT_NEAR(test::digamma(1), -0.57721566490153286, 1e-12);
  EXPECT_NEAR(test::trigamma(1), M_PI * M_PI / 6, 1e-12);
  EXPECT_NEAR(test::digamma(0.5), -0.57721566490153286 - 2 * std::log(2), 1e-12);
  for (const double x : {1e-3, 0.5, 1.0, 3.0, 20.0}) {
    EXPECT_NEAR(test::incomplete_gamma(1, std::log(x)), -std::expm1(-x), 1e-13);
    EXPECT_NEAR(test::incomplete_gamma(0.5, std::log(x)), std::erf(std::sqrt(x)), 1e-13);
    EXPECT_NEAR(test::student_cdf(1, x), 0.5 + std::atan(x) / M_PI, 1e-13);
    EXPECT_NEAR(test::student_cdf(2, x), 0.5 + x / (2 * std::sqrt(2 + x * x)), 1e-13);
    EXPECT_NEAR(test::student_cdf(3, -x), 0.5 - (x * std::sqrt(3) / (3 + x * x) + std::atan(x / std::sqrt(3))) / M_PI,
                1e-13);
  }
}

TEST(Permutation, IsOne) {
  for (const int64_t n : {0, 1, 2, 1000}) {
    std::vector<int64_t> p(static_cast<size_t>(n)), sorted(p.size());
    fill_permutation(Key(59), n, p.data());
    std::sort(p.begin(), p.end());
    std::iota(sorted.begin(), sorted.end(), 0);
    EXPECT_EQ(p, sorted);
  }
}

TEST(Permutation, EachOrderIsEquallyLikely) {
  constexpr int n = 120'000, orders = 120;
  std::map<std::array<int64_t, 5>, double> count;
  for (uint64_t i = 0; i < n; ++i) {
    std::array<int64_t, 5> p;
    fill_permutation(Key(61).child(i), 5, p.data());
    ++count[p];
  }
  ASSERT_EQ(count.size(), orders);
  double chi_square = 0;
  constexpr double expected = static_cast<double>(n) / orders;
  for (const auto& [order, c] : count) chi_square += (c - expected) * (c - expected) / expected;
  EXPECT_NEAR(chi_square, orders - 1, 4 * std::sqrt(2.0 * (orders - 1)));
}

}  // namespace
}  // namespace htfm
