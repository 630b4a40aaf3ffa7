// Laws of the mixing families: Laplace transforms of areas and paths, cdfs of slopes, the tail of the compound Poisson
// source, the scale.
#include <gtest/gtest.h>

#include <numeric>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/clock/clock.h"
#include "test/statistics.h"

namespace htfm {
namespace {

constexpr int64_t kMixingDraws = 100'000;

std::vector<double> areas(const ClockSpec& spec, int64_t n, uint64_t seed) {
  const at::Tensor a = make_clock(spec)->sample(Key(seed), {.count = n, .paths = false}).area;
  return {a.const_data_ptr<double>(), a.const_data_ptr<double>() + n};
}

// E exp(-s A) = transform(s), so the variance of exp(-s A) is transform(2 s) - transform(s)^2. The source has E cos(xi
// X) = transform(xi^2).
void expect_transform(const ClockSpec& spec, const std::function<double(double)>& transform) {
  const at::Tensor area = make_clock(spec)->sample(Key(21), {.count = kMixingDraws, .paths = false}).area,
                   x = sample_source(Key(22), area, 1);
  for (const double s : {0.1, 1.0, 10.0}) {
    double mean = 0, source = 0;
    for (int64_t i = 0; i < kMixingDraws; ++i) {
      mean += std::exp(-s * area.const_data_ptr<double>()[i]) / kMixingDraws;
      source += std::cos(std::sqrt(s) * x.const_data_ptr<double>()[i]) / kMixingDraws;
    }
    const double expected = transform(s);
    EXPECT_NEAR(mean, expected, 4 * std::sqrt((transform(2 * s) - expected * expected) / kMixingDraws))
        << spec.describe() << " s=" << s;
    EXPECT_NEAR(source, expected, 4 * std::sqrt((0.5 + 0.5 * transform(4 * s) - expected * expected) / kMixingDraws))
        << spec.describe() << " s=" << s;
  }
}

double inverse_gaussian_cdf(double mean, double shape, double x) {
  const double root = std::sqrt(shape / x);
  return test::normal_cdf(root * (x / mean - 1)) +
         std::exp(2 * shape / mean) * test::normal_cdf(-root * (x / mean + 1));
}

// exp(order y - concentration cosh y) on a fine grid of y = log X, where it is not negligible.
class GigTable {
 public:
  GigTable(double p, double w) {
    const double mode = std::asinh(p / w);
    const auto log_density = [&](double y) { return p * (y - mode) - w * (std::cosh(y) - std::cosh(mode)); };
    double lower = mode, upper = mode;
    for (double step = 1e-3; log_density(lower) > -45; step *= 1.1) lower -= step;
    for (double step = 1e-3; log_density(upper) > -45; step *= 1.1) upper += step;
    const int points = 40'001;
    const double h = (upper - lower) / (points - 1);
    double sum = 0, first = 0;
    for (int k = 0; k < points; ++k) {
      const double y = lower + k * h, density = std::exp(log_density(y));
      y_.push_back(y);
      sum += density;
      first += density * std::exp(y);
      cdf_.push_back(sum - density / 2);
    }
    for (double& c : cdf_) c /= sum;
    mean_ = first / sum;
  }
  double mean() const { return mean_; }
  double cdf(double x) const {
    const double y = std::log(x);
    const auto above = std::upper_bound(y_.begin(), y_.end(), y);
    if (above == y_.begin()) return 0;
    if (above == y_.end()) return 1;
    const auto k = static_cast<size_t>(above - y_.begin());
    return std::lerp(cdf_[k - 1], cdf_[k], (y - y_[k - 1]) / (y_[k] - y_[k - 1]));
  }

 private:
  std::vector<double> y_, cdf_;
  double mean_;
};

TEST(Gamma, LawOfTheSlope) {
  for (const double k : {0.3, 1.0, 4.0}) {
    for (const int grid : {1, 7})
      expect_transform({"gamma", {{"shape", k}}, grid}, [k](double s) { return std::pow(1 + s / (2 * k), -k); });
    std::vector<double> a = areas({"gamma", {{"shape", k}}, 1}, kMixingDraws, 23);
    EXPECT_LT(test::kolmogorov_smirnov(a, [k](double x) { return test::incomplete_gamma(k, std::log(2 * x * k)); }),
              test::kKolmogorovBound);
  }
}

TEST(InverseGaussian, LawOfTheSlope) {
  for (const double shape : {0.05, 1.0, 20.0}) {
    expect_transform({"inverse-gaussian", {{"shape", shape}}, 7},
                     [shape](double s) { return std::exp(shape * (1 - std::sqrt(1 + s / shape))); });
    std::vector<double> a = areas({"inverse-gaussian", {{"shape", shape}}, 1}, kMixingDraws, 24);
    EXPECT_LT(test::kolmogorov_smirnov(a, [shape](double x) { return inverse_gaussian_cdf(1, shape, 2 * x); }),
              test::kKolmogorovBound);
  }
}

TEST(GeneralisedInverseGaussian, LawForAnyOrderAndConcentration) {
  for (const double order : {-50.0, -1.5, -0.3, 0.0, 0.7, 30.0})
    for (const double concentration : {1e-6, 0.01, 1.0, 100.0, 1e4}) {
      const GigTable table(order, concentration);
      const ClockSpec spec{"generalised-inverse-gaussian", {{"order", order}, {"concentration", concentration}}, 1};
      std::vector<double> a = areas(spec, 30'000, 25);
      EXPECT_LT(test::kolmogorov_smirnov(a, [&](double x) { return table.cdf(2 * x * table.mean()); }),
                test::kKolmogorovBound)
          << spec.describe();
    }
}

TEST(GeneralisedInverseGaussian, HoldsTheInverseGaussianAndTheGammaClock) {
  std::vector<double> a =
      areas({"generalised-inverse-gaussian", {{"order", -0.5}, {"concentration", 1.3}}, 1}, kMixingDraws, 26);
  EXPECT_LT(test::kolmogorov_smirnov(a, [](double x) { return inverse_gaussian_cdf(1, 1.3, 2 * x); }),
            test::kKolmogorovBound);
  a = areas({"generalised-inverse-gaussian", {{"order", 2.5}, {"concentration", 1e-5}}, 1}, kMixingDraws, 27);
  EXPECT_LT(test::kolmogorov_smirnov(a, [](double x) { return test::incomplete_gamma(2.5, std::log(2 * x * 2.5)); }),
            test::kKolmogorovBound);
  expect_transform({"generalised-inverse-gaussian", {{"order", -0.5}, {"concentration", 0.7}}, 200},
                   [](double s) { return std::exp(0.7 * (1 - std::sqrt(1 + s / 0.7))); });
}

// One part, a few, many.
TEST(TemperedStable, LaplaceTransform) {
  for (const double alpha : {0.6, 1.0, 1.5, 1.9})
    for (const double theta : {1e-3, 0.7, 30.0}) {
      const double rho = alpha / 2;
      expect_transform({"tempered-stable", {{"alpha", alpha}, {"tempering", theta}}, 7},
                       [=](double s) { return std::exp(-0.5 * (std::pow(theta + s, rho) - std::pow(theta, rho))); });
    }
}

// A tempered 1/2-stable variable is inverse Gaussian, here with mean 1/(4 sqrt(theta)) and shape 1/8.
TEST(TemperedStable, InverseGaussianAtAlphaOne) {
  for (const double theta : {0.5, 40.0}) {
    std::vector<double> a = areas({"tempered-stable", {{"alpha", 1}, {"tempering", theta}}, 1}, kMixingDraws, 28);
    EXPECT_LT(
        test::kolmogorov_smirnov(a, [=](double x) { return inverse_gaussian_cdf(0.25 / std::sqrt(theta), 0.125, x); }),
        test::kKolmogorovBound);
  }
}

TEST(TemperedStable, RefusesWhatTakesTooLong) {
  EXPECT_THROW(make_clock({"tempered-stable", {{"alpha", 1.8}, {"tempering", 1e4}}, 1}), InputError);
  EXPECT_THROW(make_clock({"compound-poisson", {{"drift", 1}, {"rate", 1e6}, {"jump_tail", 1}}, 1}), InputError);
}

// E exp(-x J) for J = c (U^(-1/c) - 1), by the midpoint rule in U = v^2 (smooth at 0).
double jump_transform(double c, double x) {
  const int points = 1000;
  double sum = 0;
  for (int k = 0; k < points; ++k) {
    const double v = (k + 0.5) / points;
    sum += 2 * v * std::exp(-x * c * std::expm1(-2 * std::log(v) / c));
  }
  return sum / points;
}

// E exp(-s T_1 - r A) = exp(-drift (s + r/2) - rate int_0^1 (1 - phi(s + r w)) dw): a jump at time 1 - w counts w times
// in the area. T at a grid point t alone: exp(-drift t s - rate t (1 - phi(s))).
TEST(CompoundPoisson, LaplaceTransformsOnAnyGrid) {
  for (const auto& [drift, rate, tail] : {std::tuple{0.5, 2.0, 0.75}, {0.1, 6.0, 3.0}, {1.0, 0.3, 1e6}})
    for (const int grid : {1, 7, 200}) {
      const auto clock =
          make_clock({"compound-poisson", {{"drift", drift}, {"rate", rate}, {"jump_tail", tail}}, grid});
      const int half = grid / 2;
      const double t = static_cast<double>(half) / grid;
      const auto joint = [&, d = drift, q = rate, c = tail](double s, double r) {
        double integral = 0;
        for (int k = 0; k < 100; ++k) integral += (1 - jump_transform(c, s + r * (k + 0.5) / 100)) / 100;
        return std::exp(-d * (s + r / 2) - q * integral);
      };
      const auto middle = [&, d = drift, q = rate, c = tail](double s) {
        return std::exp(-d * t * s - q * t * (1 - jump_transform(c, s)));
      };
      const ClockSample sample = clock->sample(Key(29), {.count = kMixingDraws});
      const double *area = sample.area.const_data_ptr<double>(), *end = sample.end.const_data_ptr<double>(),
                   *paths = sample.paths.const_data_ptr<double>();
      for (const auto& [s, r] : {std::pair{0.0, 1.0}, {0.5, 0.0}, {0.3, 4.0}}) {
        double both = 0, at_half = 0;
        for (int64_t i = 0; i < kMixingDraws; ++i) {
          both += std::exp(-s * end[i] - r * area[i]) / kMixingDraws;
          at_half += std::exp(-(s + r) * paths[i * (grid + 1) + half]) / kMixingDraws;
        }
        const double expected = joint(s, r), half_expected = middle(s + r);
        EXPECT_NEAR(both, expected, 4 * std::sqrt((joint(2 * s, 2 * r) - expected * expected) / kMixingDraws) + 1e-5)
            << clock->spec().describe();
        EXPECT_NEAR(at_half, half_expected,
                    4 * std::sqrt((middle(2 * (s + r)) - half_expected * half_expected) / kMixingDraws) + 1e-5)
            << clock->spec().describe();
      }
    }
}

// The area and the end of a clock do not know the grid; the path only shows more or less of it.
TEST(CompoundPoisson, AreaIsThatOfTheContinuum) {
  const std::map<std::string, double> parameters{{"drift", 0.2}, {"rate", 5}, {"jump_tail", 1.2}};
  const ClockSample coarse = make_clock({"compound-poisson", parameters, 1})->sample(Key(30), {.count = 500}),
                    fine = make_clock({"compound-poisson", parameters, 20'000})->sample(Key(30), {.count = 500});
  EXPECT_TRUE(coarse.area.equal(fine.area));
  EXPECT_TRUE(coarse.end.equal(fine.end));
  for (int64_t i = 0; i < 500; ++i) {
    // The left sum of the path differs from its area by at most (T_1 - T_0) / grid.
    const double* path = fine.paths.const_data_ptr<double>() + i * 20'001;
    const double sum = std::accumulate(path, path + 20'000, 0.0) / 20'000, end = fine.end.const_data_ptr<double>()[i];
    const double area = fine.area.const_data_ptr<double>()[i];
    EXPECT_GE(area, sum - 1e-9 * end);
    EXPECT_LE(area, sum + end / 20'000 + 1e-9 * end);
  }
}

// Index 2 c: Hill's estimate from the 4,000 largest of 2,000,000 radii has 4 standard errors of 6.3 %. There P(A > x)
// is about 0.92 x^-0.75 = 0.002, x = 3,500: what the laws differ by from a power is of order 1/x and P(A > x), below 1
// %.
TEST(CompoundPoisson, TailIndexByHill) {
  constexpr int64_t n = 2'000'000, k = 4000;
  const auto clock = make_clock({"compound-poisson", {{"drift", 0.5}, {"rate", 2}, {"jump_tail", 0.75}}, 1});
  const at::Tensor x = sample_source(Key(31), clock->sample(Key(32), {.count = n, .paths = false}).area, 1);
  std::vector<double> r(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) r[static_cast<size_t>(i)] = std::abs(x.const_data_ptr<double>()[i]);
  std::nth_element(r.begin(), r.end() - k - 1, r.end());
  double sum = 0;
  for (auto i = r.end() - k; i < r.end(); ++i) sum += std::log(*i / *(r.end() - k - 1));
  EXPECT_NEAR(k / sum / 1.5, 1, 0.073);
  EXPECT_EQ(clock->tail_exponent(), 1.5);
  for (const ClockSpec& light : {ClockSpec{"gamma", {{"shape", 1}}, 1},
                                 {"inverse-gaussian", {{"shape", 1}}, 1},
                                 {"generalised-inverse-gaussian", {{"order", -2}, {"concentration", 1}}, 1},
                                 {"tempered-stable", {{"alpha", 1.5}, {"tempering", 1}}, 1}})
    EXPECT_EQ(make_clock(light)->tail_exponent(), std::numeric_limits<double>::infinity());
}

// Rejections of a clock do not move its neighbours.
TEST(Rejection, PartsAgreeWithTheWhole) {
  for (const ClockSpec& spec : {ClockSpec{"tempered-stable", {{"alpha", 1.6}, {"tempering", 20}}, 1},
                                {"tempered-stable", {{"alpha", 0.5}, {"tempering", 300}}, 1},
                                {"generalised-inverse-gaussian", {{"order", -0.8}, {"concentration", 0.05}}, 1},
                                {"gamma", {{"shape", 0.2}}, 1}}) {
    const auto clock = make_clock(spec);
    const at::Tensor whole = clock->sample(Key(33), {.count = 3000}).area;
    for (const int64_t first : {1, 500, 2999})
      EXPECT_TRUE(
          clock->sample(Key(33), {.count = 3000 - first, .first = first}).area.equal(whole.slice(0, first, 3000)))
          << spec.describe();
  }
}

TEST(Scale, MultipliesTheSourceOfEveryFamily) {
  for (const ClockFamily& family : clock_families()) {
    if (family.name == "fitted" || family.name == "auto") continue;  // their law comes from data
    ClockSpec spec{family.name, {}, 5};
    for (const ClockParameter& p : family.parameters)
      spec.parameters[p.name] = std::isfinite(p.upper) ? p.lower + 0.7 * (p.upper - p.lower) : 1.5;
    const ClockSample one = make_clock(spec)->sample(Key(34), {.count = 300});
    spec.scale = 4;
    const auto clock = make_clock(spec);
    const ClockSample four = clock->sample(Key(34), {.count = 300});
    EXPECT_TRUE(four.area.equal(one.area.mul(16)));
    EXPECT_TRUE(four.end.equal(one.end.mul(16)));
    EXPECT_TRUE(four.paths.equal(one.paths.mul(16)));
    EXPECT_TRUE(sample_source(Key(35), four.area, 2).equal(sample_source(Key(35), one.area, 2).mul(4))) << family.name;
    EXPECT_EQ(clock->student_degrees(), 0);
    EXPECT_TRUE(clock->spec().describe().ends_with(", grid 5, scale 4")) << clock->spec().describe();
  }
  for (const double wrong : {0.0, -1.0, double{NAN}, double{INFINITY}, 1e200}) {
    ClockSpec spec;
    spec.scale = wrong;
    EXPECT_THROW(make_clock(spec), InputError) << wrong;
  }
}

}  // namespace
}  // namespace htfm
