// A multistep solver fitted to one model: its time grid and its weights are those that reproduce, on a few hundred
// trajectories, what a fine integration gives. Nothing is trained, the network stays as it is.
#pragma once

#include "htfm/sample/solver.h"

namespace htfm {

/// y_{n+1} = y_n + sum_j weight[n][j] v(y_{n-j}, u_{n-j}) with j = 0 the newest: one evaluation a step.
struct MultistepPlan {
  std::vector<double> times;                 ///< 0 = u_0 < ... < u_N = 1
  std::vector<std::vector<double>> weights;  ///< one a step, at most kMultistepOrder each
  double error = 0;        ///< of the law at u = 1: root mean square difference of characteristic functions
  double plain_error = 0;  ///< that of Adams and Bashforth's rule on its best power grid
};
inline constexpr int64_t kMultistepOrder = 3;

/// A plan of `steps` steps for dy/du = v(y, u), from the trajectories that start at y (rows x dim). `scale`: what each
/// row is multiplied with at the end, in units in which the law of the end points is to be right.
MultistepPlan fit_multistep(const Velocity& velocity, int64_t rows, int64_t dim, const double* y, const double* scale,
                            int64_t steps);

/// Moves register 0, or y (rows x dim), from u = 0 to 1 by the plan.
SolverRun run_multistep(const MultistepPlan& plan, States& states);
SolverRun run_multistep(const MultistepPlan& plan, const Velocity& velocity, int64_t rows, int64_t dim, double* y);

}  // namespace htfm
