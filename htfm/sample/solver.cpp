#include "htfm/sample/solver.h"

#include "htfm/base/registry.h"

#include <algorithm>
#include <cmath>

namespace htfm {

namespace {

double grid_time(int64_t i, int64_t steps, double power) {
  if (i == steps) return 1;
  const double u = static_cast<double>(i) / static_cast<double>(steps);
  return power == 1 ? u : 1 - std::pow(1 - u, power);
}

// x + h k into out.
void advance(int64_t n, const double* x, double h, const double* k, double* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] + h * k[i];
}

SolverRun euler(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  const int64_t n = rows * dim, steps = o.nfe;
  std::vector<double> k(static_cast<size_t>(n));
  for (int64_t i = 0; i < steps; ++i) {
    const double t = grid_time(i, steps, o.time_power);
    v(x, t, k.data());
    advance(n, x, grid_time(i + 1, steps, o.time_power) - t, k.data(), x);
  }
  return {steps, steps};
}

SolverRun heun(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  const int64_t n = rows * dim, steps = o.nfe / 2;
  std::vector<double> k1(static_cast<size_t>(n)), k2(k1), y(k1);
  for (int64_t i = 0; i < steps; ++i) {
    const double t = grid_time(i, steps, o.time_power), next = grid_time(i + 1, steps, o.time_power), h = next - t;
    v(x, t, k1.data());
    advance(n, x, h, k1.data(), y.data());
    v(y.data(), next, k2.data());
    for (int64_t j = 0; j < n; ++j) x[j] += h / 2 * (k1[j] + k2[j]);
  }
  return {2 * steps, steps};
}

void midpoint_step(const Velocity& v, int64_t n, double t, double h, double* x, std::vector<double>& k1, std::vector<double>& k2, std::vector<double>& y) {
  v(x, t, k1.data());
  advance(n, x, h / 2, k1.data(), y.data());
  v(y.data(), t + h / 2, k2.data());
  advance(n, x, h, k2.data(), x);
}

SolverRun midpoint(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  const int64_t n = rows * dim, steps = o.nfe / 2;
  std::vector<double> k1(static_cast<size_t>(n)), k2(k1), y(k1);
  for (int64_t i = 0; i < steps; ++i) {
    const double t = grid_time(i, steps, o.time_power);
    midpoint_step(v, n, t, grid_time(i + 1, steps, o.time_power) - t, x, k1, k2, y);
  }
  return {2 * steps, steps};
}

// Adams and Bashforth of order 2 with variable steps; the first step by midpoint, whose slope at its beginning is kept.
SolverRun ab2(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  const int64_t n = rows * dim, steps = o.paper_count ? o.nfe / 2 : o.nfe - 1;
  std::vector<double> before(static_cast<size_t>(n)), k(before), y(before);
  double last_h = grid_time(1, steps, o.time_power);
  midpoint_step(v, n, 0, last_h, x, before, k, y);
  for (int64_t i = 1; i < steps; ++i) {
    const double t = grid_time(i, steps, o.time_power), h = grid_time(i + 1, steps, o.time_power) - t, r = h / last_h;
    v(x, t, k.data());
    for (int64_t j = 0; j < n; ++j) x[j] += h * ((1 + r / 2) * k[j] - r / 2 * before[j]);
    std::swap(k, before);
    last_h = h;
  }
  return {steps + 1, steps};
}

// Dormand and Prince 5(4), first same as last. The rows share their steps; the error of a step is that of its worst row.
SolverRun dopri5(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  static constexpr double c[7] = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
  static constexpr double a[7][6] = {{},
                                     {1. / 5},
                                     {3. / 40, 9. / 40},
                                     {44. / 45, -56. / 15, 32. / 9},
                                     {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                                     {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                                     {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
  static constexpr double e[7] = {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40};
  const int64_t n = rows * dim;
  std::vector<std::vector<double>> k(7, std::vector<double>(static_cast<size_t>(n)));
  std::vector<double> y(static_cast<size_t>(n));
  SolverRun run;
  v(x, 0, k[0].data());
  ++run.evaluations;
  double t = 0, h = 0.02;
  while (t < 1) {
    if (run.evaluations + 6 > o.nfe || h < 1e-10) {
      run.complete = false;
      return run;
    }
    const bool last = t + h >= 1 - 1e-12;
    if (last) h = 1 - t;
    for (int s = 1; s < 7; ++s) {
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int r = 0; r < s; ++r) sum += a[s][r] * k[r][i];
        y[i] = x[i] + h * sum;
      }
      v(y.data(), t + c[s] * h, k[s].data());
    }
    run.evaluations += 6;
    double worst = 0;
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int64_t i = row * dim; i < (row + 1) * dim; ++i) {
        double error = 0;
        for (int s = 0; s < 7; ++s) error += e[s] * k[s][i];
        const double scale = o.atol + o.rtol * std::max(std::abs(x[i]), std::abs(y[i]));
        sum += (h * error / scale) * (h * error / scale);
      }
      const double norm = std::sqrt(sum / static_cast<double>(dim));
      // A row that is not finite any more cannot be helped by smaller steps.
      if (std::isfinite(norm)) worst = std::max(worst, norm);
    }
    if (worst <= 1) {
      t = last ? 1 : t + h;
      std::copy(y.begin(), y.end(), x);
      std::swap(k[0], k[6]);
      ++run.steps;
    }
    h *= std::clamp(0.9 * std::pow(std::max(worst, 1e-10), -0.2), 0.2, 5.0);
  }
  return run;
}

}  // namespace

std::span<const SolverInfo> solvers() {
  static const std::vector<SolverInfo> list{
      {"euler", "order 1, one evaluation a step", 1, euler},
      {"heun", "order 2, two evaluations a step, the last at t = 1", 2, heun},
      {"midpoint", "order 2, two evaluations a step", 2, midpoint},
      {"ab2", "order 2, multistep, one evaluation a step after the first", 2, ab2},
      {"dopri5", "order 5(4) with error control (rtol, atol); nfe is the most it may spend", 7, dopri5},
  };
  return list;
}

const SolverInfo& find_solver(const std::string& name) { return find_named(solvers(), name, "sample.solver"); }

}  // namespace htfm
