// Forward dynamics dX = f_t X dt + G_t dW_{T_t} under a clock (eq. clock-forward-sde), data at t = 0. Given the clock
// and X_0 = x, X_t is Gaussian with mean m_t x and covariance Q_t I.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "htfm/method/diffusion_options.h"

namespace htfm {

/// m_t and the rate of the noise, which are the same for every clock. Noise is in units of the data's scale.
class ForwardDynamics {
 public:
  /// InputError names the option that is wrong.
  ForwardDynamics(const DiffusionOptions& options, double data_scale);
  /// m_t.
  double mean(double t) const;
  /// int_0^t G_s^2 / m_s^2 ds: what Q_t / m_t^2 is for the clock T_t = t. Increases.
  double intensity(double t) const;
  /// What an increment of the clock over each of so many equal steps adds to Q_t / m_t^2 beyond it.
  std::vector<double> weights(int64_t steps) const;

 private:
  bool preserving_;
  double low_, high_, unit_;
};

/// The conditional moments of one clock: its path on a uniform grid, linear between (a jump is a steep piece).
class ClockMoments {
 public:
  /// `path`: T at the grid's points, 0 first. `weights`: those of as many steps. The dynamics must live as long as it
  /// does.
  ClockMoments(const ForwardDynamics& dynamics, std::span<const double> weights, std::span<const double> path);
  /// Q_t / m_t^2 = int_0^t G_s^2 / m_s^2 dT_s, the variance of X_t / m_t given X_0. Does not decrease.
  double ratio(double t) const;
  double mean(double t) const { return dynamics_.mean(t); }
  /// Q_t.
  double variance(double t) const { return mean(t) * mean(t) * ratio(t); }

 private:
  const ForwardDynamics& dynamics_;
  std::vector<double> path_, ratio_;  // at the grid's points
};

}  // namespace htfm
