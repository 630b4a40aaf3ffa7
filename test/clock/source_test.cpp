// The source law, marginal over the clock (Theorem "Recovered clock marginals"): normal, isotropic stable, multivariate
// Student.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/clock/clock.h"
#include "test/statistics.h"

namespace htfm {
namespace {

using test::kKolmogorovBound;
using test::kolmogorov_smirnov;

constexpr int64_t kSourceDraws = 1'000'000;

at::Tensor draw_source(const ClockSpec& spec, int64_t n, int64_t dim, uint64_t seed, int64_t first = 0) {
  const Key key(seed);
  const ClockSample clocks = make_clock(spec)->sample(key.child("clock"), {.count = n, .first = first, .paths = false});
  return sample_source(key.child("source"), clocks.area, dim, first);
}

std::vector<double> coordinate(const at::Tensor& x, int64_t k) {
  std::vector<double> out(static_cast<size_t>(x.size(0)));
  for (size_t i = 0; i < out.size(); ++i) out[i] = x.const_data_ptr<double>()[static_cast<int64_t>(i) * x.size(1) + k];
  return out;
}

std::vector<double> radii(const at::Tensor& x) {
  std::vector<double> out(static_cast<size_t>(x.size(0)));
  const int64_t dim = x.size(1);
  for (size_t i = 0; i < out.size(); ++i) {
    const double* row = x.const_data_ptr<double>() + static_cast<int64_t>(i) * dim;
    for (int64_t k = 0; k < dim; ++k) out[i] = std::hypot(out[i], row[k]);
  }
  return out;
}

TEST(StableSource, CharacteristicFunction) {
  for (const double alpha : {0.5, 1.0, 1.5, 1.9})
    for (const int grid : {1, 7}) {
      const at::Tensor x = draw_source({"stable", {{"alpha", alpha}}, grid}, kSourceDraws, 3, 11);
      const double* rows = x.const_data_ptr<double>();
      for (const auto& xi : {std::array{0.3, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.6, -0.6, 0.6}, {2.0, 1.0, -1.0}}) {
        double cosine = 0, sine = 0;
        for (int64_t i = 0; i < kSourceDraws; ++i) {
          const double angle = xi[0] * rows[3 * i] + xi[1] * rows[3 * i + 1] + xi[2] * rows[3 * i + 2];
          cosine += std::cos(angle) / kSourceDraws, sine += std::sin(angle) / kSourceDraws;
        }
        const double size = std::hypot(xi[0], xi[1], xi[2]);
        const double phi = std::exp(-std::pow(size, alpha) / 2), phi_double = std::exp(-std::pow(2 * size, alpha) / 2);
        EXPECT_NEAR(cosine, phi, 4 * std::sqrt(((1 + phi_double) / 2 - phi * phi) / kSourceDraws))
            << alpha << ' ' << grid << ' ' << size;
        EXPECT_NEAR(sine, 0, 4 * std::sqrt((1 - phi_double) / 2 / kSourceDraws)) << alpha << ' ' << grid << ' ' << size;
      }
    }
}

// alpha = 1: exp(-|xi|/2) is the Cauchy law of scale 1/2; its radius in two dimensions has a closed form.
TEST(StableSource, IsCauchyAtAlphaOne) {
  const at::Tensor x = draw_source({"stable", {{"alpha", 1.0}}, 7}, kSourceDraws, 2, 12);
  for (const int64_t k : {0, 1}) {
    std::vector<double> c = coordinate(x, k);
    EXPECT_LT(kolmogorov_smirnov(c, [](double v) { return 0.5 + std::atan(2 * v) / M_PI; }), kKolmogorovBound);
  }
  std::vector<double> r = radii(x);
  EXPECT_LT(kolmogorov_smirnov(r, [](double v) { return 1 - 1 / std::sqrt(1 + 4 * v * v); }), kKolmogorovBound);
}

TEST(StudentSource, CoordinatesAndRadius) {
  for (const double nu : {0.5, 1.7, 3.0}) {
    const at::Tensor x = draw_source({"inverse-gamma", {{"nu", nu}}, 1}, kSourceDraws / 2, 2, 13);
    for (const int64_t k : {0, 1}) {
      std::vector<double> c = coordinate(x, k);
      EXPECT_LT(kolmogorov_smirnov(c, [&](double v) { return test::student_cdf(nu, v); }), kKolmogorovBound)
          << nu << ' ' << k;
    }
    // The coordinates share their clock: P(|X| > r) = (1 + r^2/nu)^(-nu/2) in two dimensions.
    std::vector<double> r = radii(x);
    EXPECT_LT(kolmogorov_smirnov(r, [&](double v) { return -std::expm1(-nu / 2 * std::log1p(v * v / nu)); }),
              kKolmogorovBound)
        << nu;
  }
}

TEST(NormalSource, CoordinatesAndRadius) {
  const at::Tensor x = draw_source({"deterministic", {}, 1}, kSourceDraws, 2, 14);
  for (const int64_t k : {0, 1}) {
    std::vector<double> c = coordinate(x, k);
    EXPECT_LT(kolmogorov_smirnov(c, test::normal_cdf), kKolmogorovBound);
  }
  std::vector<double> r = radii(x);
  EXPECT_LT(kolmogorov_smirnov(r, [](double v) { return -std::expm1(-v * v / 2); }), kKolmogorovBound);
}

double hill(std::vector<double> x, int64_t k) {
  const auto threshold = x.end() - k - 1;
  std::nth_element(x.begin(), threshold, x.end());
  double sum = 0;
  for (auto i = threshold + 1; i < x.end(); ++i) sum += std::log(*i / *threshold);
  return static_cast<double>(k) / sum;
}

// Hill's estimate from the k largest of n radii has relative standard error 1/sqrt(k) and a bias that grows with p =
// k/n. In two dimensions: stable, P(R > r) = C r^-alpha (1 + B r^-alpha ...), relative bias B p / (2 C), that is 1.5 p
// at alpha = 1.5; Student, P(R > r) = (1 + r^2/nu)^(-nu/2), relative bias nu^2 / ((nu + 2) r^2). With n = 8e6 and k =
// 16,000 (p = 0.002) 4 standard errors are 3.2 %, the biases 0.3 % (stable 1.5), 0.05 % (Student 1.7) and 1.0 %
// (Student 3): together below 5 %.
TEST(TailIndex, ByHill) {
  constexpr int64_t n = 8'000'000, k = 16'000, chunk = 100'000;
  for (const auto& [spec, index] : {std::pair{ClockSpec{"stable", {{"alpha", 1.5}}, 1}, 1.5},
                                    {ClockSpec{"inverse-gamma", {{"nu", 1.7}}, 1}, 1.7},
                                    {ClockSpec{"inverse-gamma", {{"nu", 3.0}}, 1}, 3.0}}) {
    std::vector<double> r(n);
    parallel_for(n / chunk, [&, &law = spec](int64_t part) {
      const std::vector<double> some = radii(draw_source(law, chunk, 2, 15, part * chunk));
      std::copy(some.begin(), some.end(), r.begin() + part * chunk);
    });
    EXPECT_NEAR(hill(std::move(r), k) / index, 1, 0.05) << spec.describe();
    EXPECT_EQ(make_clock(spec)->tail_exponent(), index);
  }
  EXPECT_EQ(make_clock({})->tail_exponent(), std::numeric_limits<double>::infinity());
}

TEST(Source, IsTheNormalOfTheKeyScaledByTheArea) {
  const ClockSample clocks = make_clock({"stable", {{"alpha", 1.5}}, 3})->sample(Key(1), {.count = 50});
  const at::Tensor x = sample_source(Key(2), clocks.area, 5);
  std::vector<double> z(250);
  fill_normal(Key(2), 0, 250, z.data());
  for (int64_t i = 0; i < 250; ++i)
    EXPECT_DOUBLE_EQ(x.const_data_ptr<double>()[i],
                     z[static_cast<size_t>(i)] * std::sqrt(2 * clocks.area.const_data_ptr<double>()[i / 5]));
}

TEST(Source, PartsAgreeWithTheWholeAndThreadsDoNotMatter) {
  const ClockSpec spec{"inverse-gamma", {{"nu", 1.7}}, 1};
  set_thread_count(1);
  const at::Tensor whole = draw_source(spec, 20'001, 3, 16);
  for (const int threads : {2, 5}) {
    set_thread_count(threads);
    EXPECT_TRUE(draw_source(spec, 20'001, 3, 16).equal(whole));
  }
  set_thread_count(0);
  for (const int64_t first : {1, 777, 19'000})
    EXPECT_TRUE(draw_source(spec, 1000, 3, 16, first).equal(whole.slice(0, first, first + 1000)));
}

TEST(Source, ChecksItsInput) {
  const at::Tensor area = make_clock({})->sample(Key(1), {.count = 4}).area;
  EXPECT_EQ(sample_source(Key(1), area.slice(0, 0, 0), 2).size(0), 0);
  EXPECT_THROW(sample_source(Key(1), area, 0), InputError);
  EXPECT_THROW(sample_source(Key(1), area, 2, -1), InputError);
  EXPECT_THROW(sample_source(Key(1), area.to(at::kFloat), 2), InputError);
  EXPECT_THROW(sample_source(Key(1), area.view({2, 2}), 2), InputError);
  EXPECT_THROW(sample_source(Key(1), at::Tensor(), 2), InputError);
}

}  // namespace
}  // namespace htfm
