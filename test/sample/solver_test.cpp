#include "htfm/sample/solver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"

namespace htfm {
namespace {

// x' = cos(3t) - 2x has a known solution; the error at t = 1 for a number of evaluations.
struct Outcome {
  double error;
  SolverRun run;
};
Outcome solve(const char* name, int64_t nfe, double power = 1, const double* source_scale = nullptr) {
  const auto exact = [](double t) {
    return (2 * std::cos(3 * t) + 3 * std::sin(3 * t)) / 13 + (1.5 - 2.0 / 13) * std::exp(-2 * t);
  };
  double x = 1.5;
  int64_t calls = 0;
  SolverOptions o;
  o.nfe = nfe, o.time_power = power;
  o.rtol = o.atol = 1e-9;
  o.source_scale = source_scale;
  const SolverRun run = find_solver(name).run(
      [&](const double* y, const double* t, double* v) {
        EXPECT_GE(t[0], 0);
        EXPECT_LE(t[0], 1 + 1e-12);
        v[0] = std::cos(3 * t[0]) - 2 * y[0];
        ++calls;
      },
      1, 1, o, &x);
  EXPECT_EQ(run.evaluations, calls) << name << ": evaluations are counted, not assumed";
  return {std::abs(x - exact(1)), run};
}

TEST(Solver, OrderOfConvergence) {
  for (const double power : {1.0, 1.5}) {
    const auto order = [&](const char* name) {
      return std::log2(solve(name, 160, power).error / solve(name, 320, power).error);
    };
    EXPECT_NEAR(order("euler"), 1, 0.15) << power;
    EXPECT_NEAR(order("heun"), 2, 0.2) << power;
    EXPECT_GT(order("heun-euler"), 1.8) << power;
    EXPECT_NEAR(order("midpoint"), 2, 0.2) << power;
    EXPECT_NEAR(order("ab2"), 2, 0.2) << power;
  }
}

TEST(Solver, AWiderGridIsTheSameInLogits) {
  SolverOptions o;
  o.time_centre = -0.7, o.time_spread = 1.8;
  const auto logit = [](double w) { return std::log(w / (1 - w)); };
  for (const double u : {0.02, 0.3, 0.5, 0.98}) EXPECT_NEAR(logit(grid_time(u, o)), -0.7 + 1.8 * logit(u), 1e-12) << u;
  EXPECT_EQ(grid_time(0, o), 0);
  EXPECT_EQ(grid_time(1, o), 1);
  EXPECT_EQ(grid_time(0.3, {}), 0.3) << "the plain grid is untouched";
}

TEST(Solver, OrderOnAClocksOwnGrid) {
  // At least the order: on some grids leading errors cancel.
  for (const double r : {0.3, 1.0, 5.0}) {
    const auto order = [&](const char* name) {
      return std::log2(solve(name, 320, 1, &r).error / solve(name, 640, 1, &r).error);
    };
    EXPECT_GT(order("euler"), 0.85) << r;
    EXPECT_GT(order("heun"), 1.8) << r;
    if (r < 5)
      EXPECT_GT(order("heun-euler"), 1.8) << r;
    else  // its error changes its sign in between
      EXPECT_LT(solve("heun-euler", 640, 1, &r).error, solve("heun", 640, 1, &r).error);
    EXPECT_GT(order("midpoint"), 1.8) << r;
    EXPECT_GT(order("ab2"), 1.8) << r;
  }
  const double one = 1;
  EXPECT_NEAR(solve("midpoint", 40, 1, &one).error, solve("midpoint", 40).error, 1e-12)
      << "a source of size 1 has the uniform grid";
}

// What the grid is for: (1-t) r / t takes the same values whatever the source's size r.
TEST(Solver, ClocksPassTheSameRatiosOfNoiseToSignal) {
  const double r[3] = {0.5, 1, 20};
  double x[3] = {};
  SolverOptions o;
  o.nfe = 10, o.source_scale = r;
  find_solver("euler").run(
      [&](const double*, const double* t, double* v) {
        for (int i = 0; i < 3; ++i) v[i] = 0;
        if (t[1] > 0) {
          const double ratio = (1 - t[1]) / t[1];
          EXPECT_NEAR((1 - t[0]) * r[0] / t[0], ratio, 1e-9);
          EXPECT_NEAR((1 - t[2]) * r[2] / t[2], ratio, 1e-9);
        }
      },
      3, 1, o, x);
}

TEST(Solver, DormandPrinceMeetsItsTolerance) {
  const Outcome o = solve("dopri5", 100000);
  EXPECT_TRUE(o.run.complete);
  EXPECT_LT(o.error, 1e-7);
  EXPECT_EQ(o.run.evaluations % 6, 1);  // first same as last
  EXPECT_FALSE(solve("dopri5", 20).run.complete) << "a budget that does not suffice is said, not hidden";
}

TEST(Solver, SpendsItsBudget) {
  EXPECT_EQ(solve("euler", 10).run.evaluations, 10);
  EXPECT_EQ(solve("heun", 10).run.evaluations, 10);
  EXPECT_EQ(solve("heun", 11).run.evaluations, 10);
  EXPECT_EQ(solve("heun-euler", 10).run.evaluations, 9);
  EXPECT_EQ(solve("heun-euler", 11).run.evaluations, 11);
  EXPECT_EQ(solve("midpoint", 10).run.evaluations, 10);
  EXPECT_EQ(solve("ab2", 10).run.evaluations, 10);
  EXPECT_EQ(solve("ab2", 10).run.steps, 9);
  EXPECT_EQ(solve("ab2-paper", 20).run.steps, 10);
  EXPECT_EQ(solve("ab2", 2).run.evaluations, 2);
}

// A linear path is integrated exactly by every solver: straight lines are what flow matching aims for.
TEST(Solver, ExactOnStraightLines) {
  for (const SolverInfo& s : solvers()) {
    if (s.name == "stochastic") continue;  // exact where both ends of the path stay (sample_stochastic_test)
    double x[4] = {1, -2, 3, 5};
    SolverOptions o;
    o.nfe = 50;
    s.run([](const double*, const double*, double* v) { v[0] = 2, v[1] = -1, v[2] = 0.5, v[3] = 0; }, 2, 2, o, x);
    EXPECT_NEAR(x[0], 3, 1e-9) << s.name;
    EXPECT_NEAR(x[1], -3, 1e-9) << s.name;
    EXPECT_NEAR(x[2], 3.5, 1e-9) << s.name;
    EXPECT_NEAR(x[3], 5, 1e-9) << s.name;
  }
}

// Numbers that make no grid or no error control would give samples without meaning.
TEST(Solver, OptionsOutsideTheirLimitsAreRefused) {
  check_solver_options({});
  const auto refused = [](double SolverOptions::*member, double value) {
    SolverOptions o;
    o.*member = value;
    EXPECT_THROW(check_solver_options(o), InputError) << value;
  };
  refused(&SolverOptions::time_power, -1);
  refused(&SolverOptions::time_power, std::nan(""));
  refused(&SolverOptions::time_spread, 0);
  refused(&SolverOptions::rtol, -1);
  refused(&SolverOptions::atol, 0);
  refused(&SolverOptions::eta, 1.5);
}

TEST(Solver, UnknownNameListsTheKnownOnes) {
  try {
    find_solver("rk4");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("midpoint"), std::string::npos);
  }
}

}  // namespace
}  // namespace htfm
