#include "htfm/stat/skewed_law.h"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/stat/maximise.h"
#include "htfm/stat/student_t.h"
#include "htfm/stat/triangular.h"

namespace htfm {

namespace {

constexpr int64_t kMostSkewedRows = 10000, kMostSkewedRounds = 400;
constexpr double kGain = 1e-7;  // of log-likelihood a row and round, below which the iteration ends
constexpr double kLeastFreedom = 1, kMostFreedom = 100, kLeastShape = 0.01, kMostShape = 100;

// What the iteration works with: Sigma^-1/2 (x - location) and Sigma^-1/2 skew.
struct Whitened {
  std::vector<double> skew;
  double skew_square = 0;

  explicit Whitened(const SkewedLaw& law) : skew(law.skew) {
    skew_square = solve_lower(law.root, law.dim(), skew.data(), skew.data());
  }
};

// Log-density of a row and the moments of V given it; scratch holds dim numbers.
double row_moments(const SkewedLaw& law, const MixingPrior& prior, const Whitened& w, const double* row,
                   double* scratch, GigMoments& given) {
  const int64_t dim = law.dim();
  for (int64_t k = 0; k < dim; ++k) scratch[k] = row[k] - law.location[k];
  const double square = solve_lower(law.root, dim, scratch, scratch);
  double cross = 0;
  for (int64_t k = 0; k < dim; ++k) cross += scratch[k] * w.skew[k];
  const double d = static_cast<double>(dim);
  given = gig_moments(prior.lambda - d / 2, prior.chi + square, prior.psi + w.skew_square);
  return prior.log_constant - d / 2 * std::log(2 * M_PI) - log_determinant(law.root, dim) + cross + given.log_integral;
}

at::Tensor thinned(const at::Tensor& rows) {
  const int64_t all = rows.size(0), n = std::min(all, kMostSkewedRows);
  return rows.index_select(0, at::arange(n, at::kLong).mul(all).div(n, "floor")).to(at::kDouble).contiguous();
}

SkewedLaw first_guess(const SkewedFamily& family, const at::Tensor& x) {
  const StudentT student = fit_student_t(x);
  SkewedLaw law;
  law.name = family.name, law.parameter = family.parameter;
  law.value = family.parameter == "nu" ? std::clamp(student.nu, 2.5, 50.0) : 1;
  law.location = student.location, law.root = student.root;
  law.skew.assign(student.location.size(), 0.0);
  return law;
}

}  // namespace

GigMoments gig_moments(double lambda, double chi, double psi) {
  // About the mode of log V the integrand is exp(h(s)), h(s) = lambda s - a (e^-s - 1) - b (e^s - 1); the trapezoidal
  // rule is as good as exact for it, its error being that of a strip of analyticity.
  const double w = std::sqrt(lambda * lambda + chi * psi), mode = lambda < 0 ? chi / (w - lambda) : (w + lambda) / psi;
  const double a = chi / (2 * mode), b = psi * mode / 2, step = 0.4 / std::sqrt(std::max(w, 1.0));
  constexpr double kFar = 60, kSmall = -34;
  double sum = 1, up = 1, down = 1, log = 0;
  for (const double sign : {1.0, -1.0}) {
    const double factor = std::exp(sign * step);
    double power = 1;
    for (double s = step; s < kFar; s += step) {
      power *= factor;
      const double h = sign * lambda * s - a * (1 / power - 1) - b * (power - 1);
      if (h + s < kSmall) break;
      const double value = std::exp(h);
      sum += value, up += value * power, down += value / power, log += sign * s * value;
    }
  }
  return {mode * up / sum, down / sum / mode, std::log(mode) + log / sum,
          lambda * std::log(mode) - a - b + std::log(step * sum)};
}

std::span<const SkewedFamily> skewed_families() {
  static const std::vector<SkewedFamily> list{
      {"skewed-student", "nu",
       [](double nu) {
         return MixingPrior{-nu / 2, nu, 0, nu / 2 * std::log(nu / 2) - std::lgamma(nu / 2)};
       },
       [](const MixingMoments& m) {
         const auto expected = [&](double log_nu) {
           const double half = std::exp(log_nu) / 2;
           return half * std::log(half) - std::lgamma(half) - half * (m.log + m.inverse);
         };
         return std::exp(maximise(expected, std::log(kLeastFreedom), std::log(kMostFreedom), 1e-7));
       }},
      {"normal-inverse-gaussian", "shape",
       [](double k) {
         return MixingPrior{-0.5, k, k, std::log(k / (2 * M_PI)) / 2 + k};
       },
       [](const MixingMoments& m) {
         return std::clamp(1 / std::max(m.v + m.inverse - 2, 1e-12), kLeastShape, kMostShape);
       }},
  };
  return list;
}

double SkewedLaw::scale() const {
  double square = 0;
  for (const double r : root) square += r * r;
  return std::sqrt(square / static_cast<double>(dim()));
}

double SkewedLaw::log_density(const double* row) const {
  for (const SkewedFamily& family : skewed_families())
    if (family.name == name) {
      std::vector<double> scratch(location.size());
      GigMoments given{};
      return row_moments(*this, family.prior(value), Whitened(*this), row, scratch.data(), given);
    }
  throw Error("[skewed law] expected a known family, got '{}'", name);
}

SkewedLaw fit_skewed_law(const SkewedFamily& family, const at::Tensor& rows, bool symmetric, const SkewedLaw* start) {
  if (rows.dim() != 2 || rows.size(0) <= rows.size(1) + 1)
    throw InputError("[skewed law] expected more rows than columns, got {} x {}", rows.size(0),
                     rows.dim() > 1 ? rows.size(1) : 1);
  const at::Tensor held = thinned(rows);
  const double* x = held.const_data_ptr<double>();
  const int64_t n = held.size(0), dim = held.size(1);
  const auto count = static_cast<double>(n);
  SkewedLaw law = start ? *start : first_guess(family, held);
  law.rows = n, law.converged = false;
  std::vector<double> mean(static_cast<size_t>(dim)), weighted(mean), scatter, density(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < dim; ++k) mean[k] += x[i * dim + k] / count;
  std::vector<GigMoments> given(static_cast<size_t>(n));
  double before = -std::numeric_limits<double>::infinity();
  for (law.rounds = 0; law.rounds < kMostSkewedRounds; ++law.rounds) {
    const MixingPrior prior = family.prior(law.value);
    const Whitened whitened(law);
    parallel_ranges(n, 512, [&](int64_t first, int64_t last) {
      std::vector<double> scratch(static_cast<size_t>(dim));
      for (int64_t i = first; i < last; ++i)
        density[i] = row_moments(law, prior, whitened, x + i * dim, scratch.data(), given[i]);
    });
    law.log_likelihood = 0;
    for (const double l : density) law.log_likelihood += l;
    if (law.log_likelihood - before < kGain * count) {
      law.converged = true;
      break;
    }
    before = law.log_likelihood;
    MixingMoments m{0, 0, 0};
    std::fill(weighted.begin(), weighted.end(), 0.0);
    for (int64_t i = 0; i < n; ++i) {
      m.v += given[i].v / count, m.inverse += given[i].inverse / count, m.log += given[i].log / count;
      for (int64_t k = 0; k < dim; ++k) weighted[k] += given[i].inverse * x[i * dim + k] / count;
    }
    for (int64_t k = 0; k < dim; ++k) {
      law.skew[k] = symmetric ? 0 : (m.inverse * mean[k] - weighted[k]) / (m.inverse * m.v - 1);
      law.location[k] = (weighted[k] - law.skew[k]) / m.inverse;
    }
    scatter.assign(static_cast<size_t>(dim * dim), 0.0);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < dim; ++k) {
        const double own = given[i].inverse * (x[i * dim + k] - law.location[k]) / count;
        for (int64_t j = 0; j <= k; ++j) scatter[k * dim + j] += own * (x[i * dim + j] - law.location[j]);
      }
    for (int64_t k = 0; k < dim; ++k)
      for (int64_t j = 0; j <= k; ++j) scatter[k * dim + j] -= m.v * law.skew[k] * law.skew[j];
    lifted_cholesky(scatter, dim, law.root);
    law.value = family.best(m);
  }
  return law;
}

}  // namespace htfm
