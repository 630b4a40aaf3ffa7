// Solvers for dx/dt = v(x, t) on [0,1], for a batch of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/method/states.h"

namespace htfm HTFM_PUBLIC {

struct SolverOptions {
  int64_t nfe = 10;       ///< budget: fixed-step solvers take as many steps as it allows; dopri5 gives up beyond it
  double time_power = 1;  ///< grid w = 1 - (1-u)^power, u uniform: finer near the data for a power above 1
  /// After the power: logit w' = centre + spread logit w. A spread above 1 goes further out at both ends, which fields
  /// need: their large shapes are decided where the noise of a single value is many times its signal.
  double time_centre = 0, time_spread = 1;
  /// For each row the size of its source over that of its data, r: its grid is t = r w / (r w + 1 - w), so that all
  /// rows pass the same ratios of noise to signal (1-t) r / t whatever their clock. Null: t = w. Not used by dopri5,
  /// which finds its own steps.
  const double* source_scale = nullptr;
  double rtol = 1e-5, atol = 1e-5;
  double eta = 1;       ///< stochastic: 0 draws no noise anew, 1 as much as the reverse process
  double eta_from = 0;  ///< stochastic: no noise is drawn below this share of the angle pi/2
  double odds = 0;      ///< stochastic: tan(angle) = odds w / (1-w), the ratios of the grid above; 0: angle = w pi/2
  Key noise = Key(0);   ///< stochastic: of what it draws, rows first.. of it
  int64_t first = 0;
};

/// InputError for a number outside the limits of its key in a configuration (sample.time_power, ...).
void check_solver_options(const SolverOptions& options);

/// The point w of the grid for u in [0, 1]: power, centre and spread.
double grid_time(double u, const SolverOptions& options);

struct SolverInfo {
  std::string name, summary;
  int64_t least_nfe;
  /// Moves register 0 from t = 0 to t = 1.
  std::function<SolverRun(States& states, const SolverOptions& options)> solve;
  bool angular = false;      ///< works in angular coordinates alone (FlowMatching::angular)
  bool draws_noise = false;  ///< which must be independent of the data, given the clock (FlowMatching::noise_is_free)
  /// The same for x (rows x dim) on the host.
  SolverRun run(const Velocity& velocity, int64_t rows, int64_t dim, const SolverOptions& options, double* x) const;
};

std::span<const SolverInfo> solvers();
/// By name; InputError for an unknown one.
const SolverInfo& find_solver(const std::string& name);

}  // namespace htfm
