#include "htfm/sample/solver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/registry.h"
#include "htfm/sample/fitted.h"
#include "htfm/sample/stochastic.h"

namespace htfm {

namespace {

// The times of all rows at the points of a fixed grid.
class Grid {
 public:
  Grid(int64_t steps, int64_t rows, const SolverOptions& o) : steps_(steps), rows_(rows), o_(o) {}
  double at(int64_t row, double i) const {
    if (i >= static_cast<double>(steps_)) return 1;
    const double w = grid_time(i / static_cast<double>(steps_), o_);
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

// The times of a step, and the moves that the fixed-step solvers are made of.
struct Stepper {
  Stepper(States& states, int64_t steps, const SolverOptions& o)
      : s(states),
        rows(states.rows()),
        grid(steps, rows, o),
        t(static_cast<size_t>(rows)),
        next(t),
        h(t),
        k1(s.add()) {}
  States& s;
  int64_t rows;
  Grid grid;
  std::vector<double> t, next, h;
  int k1;

  void begin(int64_t i) {
    grid.fill(i, t);
    grid.fill(i + 1, next);
    for (int64_t r = 0; r < rows; ++r) h[r] = next[r] - t[r];
  }
  void slope(int x, const std::vector<double>& at, int k) { s.evaluate(x, at.data(), k); }
  // out = state + factor h k.
  void advance(double factor, int k, int out) {
    s.combine(out, std::array{States::Term{0}, States::Term{k, factor, h.data()}});
  }
  // With its first slope in k1.
  void midpoint(int k2, int y) {
    slope(0, t, k1);
    advance(0.5, k1, y);
    for (int64_t r = 0; r < rows; ++r) t[r] += h[r] / 2;
    slope(y, t, k2);
    advance(1, k2, 0);
  }
};

SolverRun euler(States& states, const SolverOptions& o) {
  const int64_t steps = o.nfe;
  Stepper s(states, steps, o);
  for (int64_t i = 0; i < steps; ++i) {
    s.begin(i);
    s.slope(0, s.t, s.k1);
    s.advance(1, s.k1, 0);
  }
  return {steps, steps};
}

// Steps of Heun's rule; those from `euler_from` on by Euler's.
SolverRun heun_steps(States& states, const SolverOptions& o, int64_t steps, int64_t euler_from) {
  Stepper s(states, steps, o);
  const int k2 = states.add(), y = states.add();
  for (int64_t i = 0; i < steps; ++i) {
    s.begin(i);
    s.slope(0, s.t, s.k1);
    if (i >= euler_from) {
      s.advance(1, s.k1, 0);
      continue;
    }
    s.advance(1, s.k1, y);
    s.slope(y, s.next, k2);
    states.combine(0,
                   std::array{States::Term{0}, States::Term{s.k1, 0.5, s.h.data()}, States::Term{k2, 0.5, s.h.data()}});
  }
  return {steps + std::min(steps, euler_from), steps};
}

SolverRun heun(States& states, const SolverOptions& o) { return heun_steps(states, o, o.nfe / 2, o.nfe / 2); }
// At t = 1 the network sees clean data and can say nothing of the noise that is left: the last step does without it.
SolverRun heun_euler(States& states, const SolverOptions& o) {
  return heun_steps(states, o, (o.nfe + 1) / 2, (o.nfe - 1) / 2);
}

SolverRun midpoint(States& states, const SolverOptions& o) {
  const int64_t steps = o.nfe / 2;
  Stepper s(states, steps, o);
  const int k2 = states.add(), y = states.add();
  for (int64_t i = 0; i < steps; ++i) {
    s.begin(i);
    s.midpoint(k2, y);
  }
  return {2 * steps, steps};
}

// Adams and Bashforth of order 2 with variable steps; the first step by midpoint, whose slope at its beginning is kept.
SolverRun ab2_steps(States& states, const SolverOptions& o, int64_t steps) {
  Stepper s(states, steps, o);
  int before = states.add();
  const int y = states.add();
  s.begin(0);
  s.midpoint(before, y);
  std::swap(s.k1, before);
  std::vector<double> last_h = s.h, newest(s.h), older(s.h);
  for (int64_t i = 1; i < steps; ++i) {
    s.begin(i);
    s.slope(0, s.t, s.k1);
    for (int64_t r = 0; r < s.rows; ++r) {
      const double half = s.h[r] / last_h[r] / 2;
      newest[r] = s.h[r] * (1 + half), older[r] = -s.h[r] * half;
    }
    states.combine(
        0, std::array{States::Term{0}, States::Term{s.k1, 1, newest.data()}, States::Term{before, 1, older.data()}});
    std::swap(s.k1, before);
    last_h = s.h;
  }
  return {steps + 1, steps};
}

SolverRun ab2(States& states, const SolverOptions& o) { return ab2_steps(states, o, o.nfe - 1); }
SolverRun ab2_paper(States& states, const SolverOptions& o) { return ab2_steps(states, o, o.nfe / 2); }

// Dormand and Prince 5(4), first same as last. The rows share their steps; the error of a step is that of its worst
// row.
SolverRun dopri5(States& states, const SolverOptions& o) {
  static constexpr double c[7] = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
  static constexpr double a[7][6] = {{},
                                     {1. / 5},
                                     {3. / 40, 9. / 40},
                                     {44. / 45, -56. / 15, 32. / 9},
                                     {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                                     {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                                     {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
  static constexpr double e[7] = {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40};
  int k[7];
  for (int& register_of : k) register_of = states.add();
  const int y = states.add(), error = states.add();
  std::vector<double> time(static_cast<size_t>(states.rows()), 0.0);
  SolverRun run;
  states.evaluate(0, time.data(), k[0]);
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
      std::vector<States::Term> terms{{0}};
      for (int r = 0; r < s; ++r) terms.push_back({k[r], h * a[s][r]});
      states.combine(y, terms);
      std::fill(time.begin(), time.end(), t + c[s] * h);
      states.evaluate(y, time.data(), k[s]);
    }
    run.evaluations += 6;
    std::array<States::Term, 7> terms{};
    for (size_t s = 0; s < terms.size(); ++s) terms[s] = {k[s], h * e[s]};
    states.combine(error, terms);
    // A row that is not finite any more cannot be helped by smaller steps, and does not count.
    const double worst = states.worst_error(error, 0, y, o.atol, o.rtol);
    if (worst <= 1) {
      t = last ? 1 : t + h;
      states.combine(0, std::array{States::Term{y}});
      std::swap(k[0], k[6]);
      ++run.steps;
    }
    h *= std::clamp(0.9 * std::pow(std::max(worst, 1e-10), -0.2), 0.2, 5.0);
  }
  return run;
}

// Needs a plan: the sampler fits one for all of its blocks.
SolverRun fitted(States&, const SolverOptions&) {
  throw Error("[sample.solver] expected a plan for the solver fitted, got none");
}

}  // namespace

void check_solver_options(const SolverOptions& o) {
  const auto within = [](const char* name, double value, double least, double most) {
    if (!(value >= least && value <= most))
      throw InputError("[sample.{}] expected a number from {} to {}, got {}", name, least, most, value);
  };
  within("time_power", o.time_power, 0.1, 16);
  within("time_centre", o.time_centre, -20, 20);
  within("time_spread", o.time_spread, 0.1, 16);
  within("rtol", o.rtol, 1e-12, 1);
  within("atol", o.atol, 1e-12, std::numeric_limits<double>::max());
  within("eta", o.eta, 0, 1);
  within("eta_from", o.eta_from, 0, 1);
}

double grid_time(double u, const SolverOptions& o) {
  const double w = o.time_power == 1 ? u : 1 - std::pow(1 - u, o.time_power);
  if ((o.time_centre == 0 && o.time_spread == 1) || w <= 0 || w >= 1) return w;
  return 1 / (1 + std::exp(-o.time_centre) * std::pow((1 - w) / w, o.time_spread));
}

std::span<const SolverInfo> solvers() {
  static const std::vector<SolverInfo> list{
      {"euler", "order 1, one evaluation a step", 1, euler},
      {"heun", "order 2, two evaluations a step, the last at t = 1", 2, heun},
      {"heun-euler", "heun, but the last step by Euler: nothing is evaluated at t = 1", 1, heun_euler},
      {"midpoint", "order 2, two evaluations a step", 2, midpoint},
      {"ab2", "order 2, multistep, one evaluation a step after the first", 2, ab2},
      {"ab2-paper", "the same with half as many steps: two evaluations are charged a step, as the paper counts", 2,
       ab2_paper},
      {"fitted", "multistep, one evaluation a step, its grid and weights fitted to the model before sampling", 1,
       fitted, true},
      {"stochastic",
       "multistep on the reverse diffusion: each step draws a part of the noise anew (sample.eta), one evaluation a "
       "step",
       1, stochastic, true, true},
      {"dopri5", "order 5(4) with error control (rtol, atol); nfe is the most it may spend", 7, dopri5},
  };
  return list;
}

SolverRun SolverInfo::run(const Velocity& velocity, int64_t rows, int64_t dim, const SolverOptions& options,
                          double* x) const {
  if (name == "fitted") {  // a plan fitted to these very rows
    const std::vector<double> scale(static_cast<size_t>(rows), 1.0);
    const MultistepPlan plan = fit_multistep(velocity, rows, dim, x, scale.data(), options.nfe);
    return run_multistep(plan, velocity, rows, dim, x);
  }
  HostStates states(velocity, rows, dim, x);
  return solve(states, options);
}

const SolverInfo& find_solver(const std::string& name) { return find_named(solvers(), name, "sample.solver"); }

}  // namespace htfm
