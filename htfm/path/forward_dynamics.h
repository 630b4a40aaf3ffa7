// Forward dynamics dX = f_t X dt + G_t dW_{T_t} under a clock (eq. clock-forward-sde), data at t = 0. Given the clock and X_0 = x,
// X_t is Gaussian with mean m_t x and covariance Q_t I.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace htfm {

struct DiffusionOptions {
  std::string dynamics = "vp";              ///< vp: f = -beta/2, G^2 = beta | ve: f = 0, G^2 = the growth of sigma^2
  double beta_min = 0.1, beta_max = 20;     ///< vp: beta_t between these, linear in t
  double sigma_min = 0.01, sigma_max = 50;  ///< ve: sigma_t between these, geometric in t
  std::string grid = "angle";               ///< of samplers: angle (each clock at its own levels of noise) | time (the same times for all)
  double threshold = 0.2;                   ///< mixed samplers: an increment that brings more than this share of the noise is a jump
};

/// m_t and the rate of the noise, which are the same for every clock. Noise is in units of the data's scale.
class ForwardDynamics {
 public:
  /// InputError names the option that is wrong.
  ForwardDynamics(const DiffusionOptions& options, double data_scale);
  /// m_t.
  double mean(double t) const;
  /// int_0^t G_s^2 / m_s^2 ds: what Q_t / m_t^2 is for the clock T_t = t. Increases.
  double intensity(double t) const;

 private:
  bool preserving_;
  double low_, high_, unit_;
};

/// The conditional moments of one clock: its path on a uniform grid, linear between (a jump is a steep piece).
class ClockMoments {
 public:
  /// `path`: T at the grid's points, 0 first. References stay.
  ClockMoments(const ForwardDynamics& dynamics, std::span<const double> path);
  /// Q_t / m_t^2 = int_0^t G_s^2 / m_s^2 dT_s, the variance of X_t / m_t given X_0. Does not decrease.
  double ratio(double t) const;
  double mean(double t) const { return dynamics_.mean(t); }
  /// Q_t.
  double variance(double t) const { return mean(t) * mean(t) * ratio(t); }

 private:
  const ForwardDynamics& dynamics_;
  std::span<const double> path_;
  std::vector<double> ratio_;  // at the grid's points
};

}  // namespace htfm
