#include "htfm/sample/solver.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/registry.h"
#include "htfm/sample/fitted.h"

namespace htfm {

namespace {

// The times of all rows at the points of a fixed grid.
class Grid {
 public:
  Grid(int64_t steps, int64_t rows, const SolverOptions& o) : steps_(steps), rows_(rows), o_(o) {}
  double at(int64_t row, double i) const {
    if (i >= static_cast<double>(steps_)) return 1;
    const double u = i / static_cast<double>(steps_), w = o_.time_power == 1 ? u : 1 - std::pow(1 - u, o_.time_power);
    if (!o_.source_scale) return w;
    const double r = o_.source_scale[row];
    return r * w / (r * w + 1 - w);
  }
  void fill(int64_t i, std::vector<double>& t) const {
    for (int64_t row = 0; row < rows_; ++row) t[row] = at(row, static_cast<double>(i));
  }

 private:
  int64_t steps_, rows_;
  const SolverOptions& o_;
};

// Buffers of one run, and the moves that the fixed-step solvers are made of.
struct Stepper {
  Stepper(const Velocity& velocity, int64_t row_count, int64_t row_size, int64_t steps, const SolverOptions& o)
      : v(velocity),
        rows(row_count),
        dim(row_size),
        grid(steps, row_count, o),
        t(static_cast<size_t>(row_count)),
        next(t),
        h(t),
        k1(static_cast<size_t>(row_count * row_size)),
        k2(k1),
        y(k1) {}
  const Velocity& v;
  int64_t rows, dim;
  Grid grid;
  std::vector<double> t, next, h, k1, k2, y;

  void begin(int64_t i) {
    grid.fill(i, t);
    grid.fill(i + 1, next);
    for (int64_t r = 0; r < rows; ++r) h[r] = next[r] - t[r];
  }
  // x + factor h k into out.
  void advance(const double* x, double factor, const std::vector<double>& k, double* out) const {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = r * dim; j < (r + 1) * dim; ++j) out[j] = x[j] + factor * h[r] * k[j];
  }
  void midpoint(double* x) {
    v(x, t.data(), k1.data());
    advance(x, 0.5, k1, y.data());
    for (int64_t r = 0; r < rows; ++r) t[r] += h[r] / 2;
    v(y.data(), t.data(), k2.data());
    advance(x, 1, k2, x);
  }
};

SolverRun euler(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  const int64_t steps = o.nfe;
  Stepper s(v, rows, dim, steps, o);
  for (int64_t i = 0; i < steps; ++i) {
    s.begin(i);
    v(x, s.t.data(), s.k1.data());
    s.advance(x, 1, s.k1, x);
  }
  return {steps, steps};
}

SolverRun heun(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  const int64_t steps = o.nfe / 2;
  Stepper s(v, rows, dim, steps, o);
  for (int64_t i = 0; i < steps; ++i) {
    s.begin(i);
    v(x, s.t.data(), s.k1.data());
    s.advance(x, 1, s.k1, s.y.data());
    v(s.y.data(), s.next.data(), s.k2.data());
    s.advance(x, 0.5, s.k1, x);
    s.advance(x, 0.5, s.k2, x);
  }
  return {2 * steps, steps};
}

SolverRun midpoint(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  const int64_t steps = o.nfe / 2;
  Stepper s(v, rows, dim, steps, o);
  for (int64_t i = 0; i < steps; ++i) {
    s.begin(i);
    s.midpoint(x);
  }
  return {2 * steps, steps};
}

// Adams and Bashforth of order 2 with variable steps; the first step by midpoint, whose slope at its beginning is kept.
SolverRun ab2(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  const int64_t steps = o.paper_count ? o.nfe / 2 : o.nfe - 1;
  Stepper s(v, rows, dim, steps, o);
  s.begin(0);
  s.midpoint(x);
  std::vector<double> before = s.k1, last_h = s.h;
  for (int64_t i = 1; i < steps; ++i) {
    s.begin(i);
    v(x, s.t.data(), s.k1.data());
    for (int64_t r = 0; r < rows; ++r) {
      const double half = s.h[r] / last_h[r] / 2;
      for (int64_t j = r * dim; j < (r + 1) * dim; ++j) x[j] += s.h[r] * ((1 + half) * s.k1[j] - half * before[j]);
    }
    std::swap(s.k1, before);
    last_h = s.h;
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
  std::vector<double> y(static_cast<size_t>(n)), time(static_cast<size_t>(rows), 0.0);
  SolverRun run;
  v(x, time.data(), k[0].data());
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
      std::fill(time.begin(), time.end(), t + c[s] * h);
      v(y.data(), time.data(), k[s].data());
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

// A plan fitted to these very rows; the sampler fits one for all of its blocks instead.
SolverRun fitted(const Velocity& v, int64_t rows, int64_t dim, const SolverOptions& o, double* x) {
  const std::vector<double> scale(static_cast<size_t>(rows), 1.0);
  return run_multistep(fit_multistep(v, rows, dim, x, scale.data(), o.nfe), v, rows, dim, x);
}

}  // namespace

std::span<const SolverInfo> solvers() {
  static const std::vector<SolverInfo> list{
      {"euler", "order 1, one evaluation a step", 1, euler},
      {"heun", "order 2, two evaluations a step, the last at t = 1", 2, heun},
      {"midpoint", "order 2, two evaluations a step", 2, midpoint},
      {"ab2", "order 2, multistep, one evaluation a step after the first", 2, ab2},
      {"fitted", "multistep, one evaluation a step, its grid and weights fitted to the model before sampling", 1, fitted},
      {"dopri5", "order 5(4) with error control (rtol, atol); nfe is the most it may spend", 7, dopri5},
  };
  return list;
}

const SolverInfo& find_solver(const std::string& name) { return find_named(solvers(), name, "sample.solver"); }

}  // namespace htfm
