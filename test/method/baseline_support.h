// The best predictor of the noise where data are one point or Gaussian, and samplers run on it.
#pragma once

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/registry.h"
#include "htfm/method/methods.h"

namespace htfm::test {

inline FlowMatchingSpec noise_spec(double alpha_or_nu, bool student) {
  FlowMatchingSpec spec;
  if (student)
    spec.clock = {"inverse-gamma", {{"nu", alpha_or_nu}}};
  else if (alpha_or_nu < 2)
    spec.clock = {"stable", {{"alpha", alpha_or_nu}}};
  return spec;
}

inline std::unique_ptr<Method> method_for(const std::string& name, double alpha_or_nu,
                                          const MethodOptions& options = {}, double data_scale = 1) {
  return make_method(name, noise_spec(alpha_or_nu, name.starts_with('t')), options, DataScale(data_scale));
}

/// E[n | a y + b n = x] / x for Gaussian y of deviation s and noise n = sqrt(V) z, as a function of |x|: given V it is
/// linear in x, and the laws of V are weighed by the density of x under them. V is taken at many quantiles.
class GaussianPredictor {
 public:
  GaussianPredictor(const Clock& clock, double deviation, int64_t dim) : deviation_(deviation), dim_(dim) {
    const int64_t draws = 1 << 17, kept = 256;
    const at::Tensor area = clock.sample(Key(7), {.count = draws, .paths = false}).area;
    std::vector<double> all(area.const_data_ptr<double>(), area.const_data_ptr<double>() + draws);
    std::sort(all.begin(), all.end());
    // Closer together towards the tail, each with its weight.
    double before = 0;
    for (int64_t k = 1; k <= kept; ++k) {
      const double u = 1 - std::pow(1 - static_cast<double>(k) / kept, 3), end = k == kept ? 1 : u;
      variance_.push_back(2 * all[static_cast<size_t>((before + end) / 2 * static_cast<double>(draws))]);
      log_weight_.push_back(std::log(end - before));
      before = end;
    }
  }
  /// For all rows of x at once: they share a and b.
  void operator()(double a, double b, int64_t rows, const double* x, double* n) const {
    constexpr int kNodes = 240;
    constexpr double kLow = -7, kHigh = 12;  // of log |x|
    std::vector<double> slope(kNodes + 1);
    for (int k = 0; k <= kNodes; ++k)
      slope[static_cast<size_t>(k)] = at(a, b, std::exp(kLow + (kHigh - kLow) * k / kNodes));
    for (int64_t r = 0; r < rows; ++r) {
      double square = 1e-300;
      for (int64_t k = r * dim_; k < (r + 1) * dim_; ++k) square += x[k] * x[k];
      const double place = std::clamp((0.5 * std::log(square) - kLow) / (kHigh - kLow) * kNodes, 0.0, kNodes - 1e-9);
      const auto node = static_cast<size_t>(place);
      const double rest = place - static_cast<double>(node), s = slope[node] * (1 - rest) + slope[node + 1] * rest;
      for (int64_t k = r * dim_; k < (r + 1) * dim_; ++k) n[k] = s * x[k];
    }
  }

 private:
  double at(double a, double b, double radius) const {
    double most = -HUGE_VAL, sum = 0, weighted = 0;
    std::vector<double> log_density(variance_.size());
    for (size_t i = 0; i < variance_.size(); ++i) {
      const double total = a * a * deviation_ * deviation_ + b * b * variance_[i];
      log_density[i] =
          log_weight_[i] - 0.5 * static_cast<double>(dim_) * std::log(total) - radius * radius / (2 * total);
      most = std::max(most, log_density[i]);
    }
    for (size_t i = 0; i < variance_.size(); ++i) {
      const double w = std::exp(log_density[i] - most);
      sum += w;
      weighted += w * b * variance_[i] / (a * a * deviation_ * deviation_ + b * b * variance_[i]);
    }
    return weighted / sum;
  }
  double deviation_;
  int64_t dim_;
  std::vector<double> variance_, log_weight_;
};

/// Samples of a method's sampler with a network that is a function of rows that share their time: network(rows, x, t,
/// out).
using SharedNetwork = std::function<void(int64_t rows, const double* x, double t, double* out)>;
inline std::vector<double> run_sampler(const Method& method, const std::string& sampler, const SharedNetwork& network,
                                       int64_t nfe, int64_t rows, int64_t dim, uint64_t seed = 3) {
  std::vector<double> x(static_cast<size_t>(rows * dim)), area(static_cast<size_t>(rows));
  int64_t calls = 0;
  const Velocity velocity = [&](const double* at, const double* t, double* out) {
    ++calls;
    network(rows, at, t[0], out);
  };
  HostStates states(velocity, rows, dim, x.data());
  const SolverRun run = find_named(method.samplers(), sampler, "sampler").run(states, {Key(seed), 0, nfe, area.data()});
  EXPECT_EQ(run.evaluations, calls);
  EXPECT_LE(calls, nfe);
  return x;
}

/// How a method mixes data and noise at the time that its network is given, and what the output is in terms of x = a y
/// + b n and n: output = data_target y + source_target n, everything per unit of the network's input.
struct Mixing {
  double a, b, data_target, source_target;
};

/// The cosine schedules again, written from their definitions.
inline Mixing dlpm_mixing(double alpha, double t) {
  const double s = 0.008, c = std::cos((t + s) / (1 + s) * M_PI / 2) / std::cos(s / (1 + s) * M_PI / 2), left = c * c;
  return {std::pow(left, 1 / alpha), std::pow(1 - left, 1 / alpha), 0, 1};
}
inline Mixing lim_mixing(double alpha, double t) {
  const double s = 0.008, a = std::cos((t + s) / (1 + s) * M_PI / 2) / std::cos(s / (1 + s) * M_PI / 2);
  return {a, std::pow(1 - std::pow(a, alpha), 1 / alpha), 0, -1 / alpha};
}
inline Mixing tflow_mixing(double, double t) { return {t, 1 - t, 0, 1}; }
inline Mixing tedm_mixing(double nu, double time, double sd = 1) {
  const double st = std::exp(4 * time), sigma = st / std::sqrt(nu / (nu - 2)), norm = std::hypot(st, sd);
  return {1 / norm, sigma / norm, st / (sd * norm), -sd * sigma / (st * norm)};
}
inline Mixing mixing_of(const std::string& method, double alpha_or_nu, double t) {
  if (method == "lim") return lim_mixing(alpha_or_nu, t);
  if (method == "tflow") return tflow_mixing(alpha_or_nu, t);
  if (method == "tedm") return tedm_mixing(alpha_or_nu, t);
  return dlpm_mixing(alpha_or_nu, t);
}

}  // namespace htfm::test
