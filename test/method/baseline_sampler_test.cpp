#include "htfm/method/baseline.h"
#include "htfm/method/dlpm.h"
#include "test/method/baseline_support.h"
#include "test/statistics.h"

namespace htfm {
namespace {

using test::Mixing;

struct Case {
  const char *method, *sampler;
  double parameter;  // alpha, or nu
};
std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const double alpha : {1.5, 1.8, 2.0})
    for (const auto& [method, sampler] : {std::pair{"dlpm", "dlpm"}, {"dlim", "dlim"}, {"lim", "sde"}, {"lim", "ode"}})
      out.push_back({method, sampler, alpha});
  for (const double nu : {3.0, 5.0})
    for (const char* method : {"tflow", "tedm"})
      for (const char* sampler : {"heun", "euler"}) out.push_back({method, sampler, nu});
  return out;
}

constexpr double kDeviation = 1.5;
constexpr int64_t kRows = 8192;

// Distance of Kolmogorov and Smirnov between samples and Gaussian data, with the best predictor.
double gaussian_error(const Case& c, int64_t nfe, const MethodOptions& options = {}) {
  const auto method = test::method_for(c.method, c.parameter, options);
  method->fit_to_data({at::empty({1, 2}, at::kFloat).zero_(), {}, Key(0)});
  const test::GaussianPredictor noise(method->clock(), kDeviation, 2);
  std::vector<double> x = test::run_sampler(
      *method, c.sampler,
      [&](int64_t n, const double* at, double t, double* out) {
        const Mixing m = test::mixing_of(c.method, c.parameter, t);
        noise(m.a, m.b, n, at, out);
        for (int64_t k = 0; k < 2 * n; ++k)
          out[k] = m.data_target * (at[k] - m.b * out[k]) / m.a + m.source_target * out[k];
      },
      nfe, kRows, 2);
  return test::kolmogorov_smirnov(x, [](double v) { return test::normal_cdf(v / kDeviation); }) /
         std::sqrt(static_cast<double>(x.size()));
}

const double kFloor = test::kKolmogorovBound / std::sqrt(2.0 * kRows);

// Data at one point y: the noise is known exactly. All samplers but LIM's then end in y whatever their number of steps.
double point_error(const Case& c, int64_t nfe, const MethodOptions& options = {}) {
  const double y[2] = {0.7, -2.5};
  const auto method = test::method_for(c.method, c.parameter, options);
  at::Tensor data = at::empty({1, 2}, at::kFloat);
  for (int k = 0; k < 2; ++k) data.mutable_data_ptr<float>()[k] = static_cast<float>(y[k]);
  method->fit_to_data({data, {}, Key(0)});
  const std::vector<double> x = test::run_sampler(
      *method, c.sampler,
      [&](int64_t n, const double* at, double t, double* out) {
        const Mixing m = test::mixing_of(c.method, c.parameter, t);
        for (int64_t k = 0; k < 2 * n; ++k) {
          const double value = data.const_data_ptr<float>()[k % 2];
          out[k] = m.data_target * value + m.source_target * (at[k] - m.a * value) / m.b;
        }
      },
      nfe, 2001, 2);
  std::vector<double> distance;
  for (size_t i = 0; i < x.size(); i += 2)
    distance.push_back(std::hypot(x[i] - data.const_data_ptr<float>()[0], x[i + 1] - data.const_data_ptr<float>()[1]));
  std::nth_element(distance.begin(), distance.begin() + 1000, distance.end());
  return distance[1000];
}

TEST(BaselineSampler, EndsInTheOnlyPoint) {
  for (const Case& c : all_cases()) {
    if (std::string(c.method) == "lim") continue;
    for (const int64_t nfe : {2, 20, 101})
      EXPECT_LT(point_error(c, nfe), 1e-9) << c.method << " " << c.sampler << " " << c.parameter;
  }
  MethodOptions half;
  half.eta = 0.5;
  for (const double alpha : {1.5, 1.8, 2.0}) EXPECT_LT(point_error({"dlim", "dlim", alpha}, 20, half), 1e-9);
}

// LIM steps through a stiff end: its distance from the point falls with the number of steps.
TEST(BaselineSampler, LimComesNearerToTheOnlyPointWithMoreSteps) {
  for (const double alpha : {1.5, 1.8, 2.0})
    for (const char* sampler : {"sde", "ode"}) {
      double before = HUGE_VAL;
      for (const int64_t nfe : {20, 80, 320, 1280}) {
        const double error = point_error({"lim", sampler, alpha}, nfe);
        EXPECT_LT(error, 0.7 * before) << sampler << " " << alpha << " at " << nfe;
        before = error;
      }
      EXPECT_LT(before, 0.02) << sampler << " " << alpha;
    }
}

// Gaussian data and the best predictor: these samplers return the law itself as the steps become many.
TEST(BaselineSampler, ReturnsAGaussianLaw) {
  for (const Case& c : all_cases()) {
    const bool stochastic = std::string(c.sampler) == "dlpm" || std::string(c.sampler) == "sde";
    if (stochastic && c.parameter < 2) continue;
    const double few = gaussian_error(c, 4), many = gaussian_error(c, 128);
    EXPECT_LT(many, few) << c.method << " " << c.sampler << " " << c.parameter;
    EXPECT_LT(many, kFloor) << c.method << " " << c.sampler << " " << c.parameter;
  }
}

// DLPM's step for Gaussian data, written anew: given the mixing variables x_(t-1) | x_t is Gaussian. `whole`: with its
// whole variance; otherwise with the noise's share of it, as if the data were known to be at their mean given x_t.
// Returns the distance of Kolmogorov and Smirnov.
double gaussian_chain(double alpha, int64_t nfe, bool whole) {
  const auto clock = make_clock(stable_noise({.family = "stable", .parameters = {{"alpha", alpha}}}, "dlpm"));
  const StableSchedule c(nfe + 1, alpha);
  const int64_t rows = 4 * kRows, size = nfe + 1;
  std::vector<std::vector<double>> sigma{std::vector<double>(static_cast<size_t>(rows), 0.0)};
  for (int64_t t = 1; t < size; ++t) {
    const ClockSample draws = clock->sample(Key(7).child(static_cast<uint64_t>(t)), {.count = rows, .paths = false});
    const double* area = draws.area.const_data_ptr<double>();
    sigma.push_back(sigma.back());
    for (int64_t r = 0; r < rows; ++r)
      sigma[t][r] = c.step_noise[t] * c.step_noise[t] * 2 * area[r] + c.step_mean[t] * c.step_mean[t] * sigma[t][r];
  }
  const double data = kDeviation * kDeviation;
  std::vector<double> x(static_cast<size_t>(rows)), z(x);
  fill_normal(Key(8), 0, rows, x.data());
  for (int64_t r = 0; r < rows; ++r) x[r] *= std::sqrt(sigma.back()[r] + c.mean.back() * c.mean.back() * data);
  for (int64_t t = size - 1; t >= 1; --t) {
    fill_normal(Key(9).child(static_cast<uint64_t>(t)), 0, rows, z.data());
    for (int64_t r = 0; r < rows; ++r) {
      const double before = sigma[t - 1][r], now = sigma[t][r], step = c.step_mean[t],
                   share = 1 - step * step * before / now;
      const double all = c.mean[t] * c.mean[t] * data + now;
      double variance = share * before;
      if (whole) variance += std::pow(share * c.mean[t] / step, 2) * data * now / all;
      x[r] = (1 - share * now / all) * x[r] / step + std::sqrt(variance) * z[r];
    }
  }
  return test::kolmogorov_smirnov(x, [](double v) { return test::normal_cdf(v / kDeviation); }) /
         std::sqrt(static_cast<double>(rows));
}

// What keeps DLPM from the law with jumps: its step takes the data at their mean given x_t and leaves their variance
// out. In small steps that is nothing; a jump is no small step, however many there are. With the variance the same step
// returns the law for any number.
TEST(BaselineSampler, DlpmLacksTheVarianceOfTheDataAtJumps) {
  const double floor = test::kKolmogorovBound / std::sqrt(4.0 * kRows);
  for (const double alpha : {1.5, 1.8})
    for (const int64_t nfe : {16, 256}) {
      EXPECT_LT(gaussian_chain(alpha, nfe, true), floor) << alpha << " " << nfe;
      EXPECT_GT(gaussian_chain(alpha, nfe, false), 1.2 * floor) << alpha << " " << nfe;
    }
  // ... and without it this is DLPM's own error.
  for (const double alpha : {1.5, 1.8})
    EXPECT_NEAR(gaussian_chain(alpha, 256, false), gaussian_error({"dlpm", "dlpm", alpha}, 256), kFloor) << alpha;
}

// With jumps both stochastic samplers are approximations: DLPM for the reason above, and LIM moves by the score where
// the reversed process has jumps of its own that depend on x. Their errors fall with the steps, but not to nothing.
TEST(BaselineSampler, StochasticSamplersComeNearAGaussianLaw) {
  for (const auto& [alpha, dlpm, lim] : {std::tuple{1.5, 0.06, 0.1}, {1.8, 0.04, 0.05}}) {
    EXPECT_LT(gaussian_error({"dlpm", "dlpm", alpha}, 256),
              std::min(dlpm, 0.7 * gaussian_error({"dlpm", "dlpm", alpha}, 16)));
    EXPECT_LT(gaussian_error({"lim", "sde", alpha}, 256),
              std::min(lim, 0.7 * gaussian_error({"lim", "sde", alpha}, 16)));
  }
}

// alpha = 2: the ancestral sampler of DDPM, with noise of variance 2.
TEST(BaselineSampler, DlpmIsDdpmForGaussianNoise) {
  const int64_t nfe = 30, size = nfe + 1, rows = 50;
  const auto method = test::method_for("dlpm", 2);
  const auto network = [](int64_t n, const double* x, double t, double* out) {
    for (int64_t k = 0; k < 2 * n; ++k) out[k] = std::sin(x[k]) + t;
  };
  const Key key(3);
  const std::vector<double> ours = test::run_sampler(*method, "dlpm", network, nfe, rows, 2, 3);
  const auto left = [&](int64_t n) {
    const auto f = [&](double i) {
      return std::pow(std::cos((i / static_cast<double>(size) + 0.008) / 1.008 * M_PI / 2), 2);
    };
    return f(static_cast<double>(n)) / f(0);
  };
  std::vector<double> x(2 * rows), z(x), e(x);
  fill_normal(key.child("source"), 0, 2 * rows, x.data());
  for (double& v : x) v *= std::sqrt(2 * (1 - left(nfe)));
  for (int64_t t = nfe; t >= 1; --t) {
    const double keep = left(t) / left(t - 1), beta = 1 - keep, variance = beta * (1 - left(t - 1)) / (1 - left(t));
    network(rows, x.data(), static_cast<double>(t) / static_cast<double>(size), e.data());
    fill_normal(key.child("step").child(static_cast<uint64_t>(t)).child("source"), 0, 2 * rows, z.data());
    for (size_t k = 0; k < x.size(); ++k)
      x[k] = (x[k] - beta / std::sqrt(1 - left(t)) * e[k]) / std::sqrt(keep) +
             (t > 1 ? std::sqrt(2 * variance) * z[k] : 0);
  }
  for (size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(ours[k], x[k], 1e-9 * (1 + std::abs(x[k])));
}

// Sample i does not depend on which samples are drawn with it.
TEST(BaselineSampler, PartsAgreeWithTheWhole) {
  for (const Case& c : all_cases()) {
    MethodOptions o;
    o.eta = 0.4, o.clamp_eps = 30, o.clamp_a = 20;
    const auto method = test::method_for(c.method, c.parameter, o);
    method->fit_to_data({at::empty({1, 2}, at::kFloat).zero_(), {}, Key(0)});
    const auto draw = [&](int64_t first, int64_t rows) {
      const Velocity network = [&](const double* x, const double* t, double* v) {
        for (int64_t k = 0; k < 2 * rows; ++k) v[k] = std::tanh(x[k]) * t[k / 2];
      };
      std::vector<double> x(static_cast<size_t>(2 * rows)), area(static_cast<size_t>(rows));
      HostStates states(network, rows, 2, x.data());
      find_named(method->samplers(), c.sampler, "sampler").run(states, {Key(5), first, 7, area.data()});
      x.insert(x.end(), area.begin(), area.end());
      return x;
    };
    const std::vector<double> whole = draw(0, 40), part = draw(25, 15);
    for (size_t k = 0; k < 30; ++k) EXPECT_EQ(part[k], whole[50 + k]) << c.method << " " << c.sampler;
    for (size_t k = 0; k < 15; ++k) EXPECT_EQ(part[30 + k], whole[80 + 25 + k]);
  }
}

}  // namespace
}  // namespace htfm
