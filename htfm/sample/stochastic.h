// A stochastic sampler. Given the clock and noise that is independent of the data, y = sin(angle) x_1 / s_d +
// cos(angle) x_0 / s_0 with x_0 / s_0 standard normal (FlowMatching::angular), whatever the clock: a step may draw a
// part of x_0 anew, as the reverse of a diffusion does, and errors of earlier steps are forgotten with it.
#pragma once

#include "htfm/sample/solver.h"

namespace htfm {

/// On states in angular coordinates. The velocity gives the denoised X_1 = sin y + cos F and X_0 = cos y - sin F. With
/// the ratio of noise to signal s = 1 / tan(angle), a step from a to b goes to sin(b) X_1 + cos(b) (k X_0 + sqrt(1 -
/// k^2) z), k = (s_b / s_a)^eta: for eta = 1 the posterior of the diffusion that adds noise in the other direction, for
/// eta = 0 the flow itself. X_1 is extrapolated from the last two steps to the middle of the step in log s
/// (DPM-Solver++ 2M of Lu et al. 2022, which is order 2 for eta = 0).
SolverRun stochastic(States& states, const SolverOptions& options);

}  // namespace htfm
