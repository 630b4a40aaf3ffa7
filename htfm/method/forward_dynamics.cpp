#include "htfm/method/forward_dynamics.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"

namespace htfm {

ForwardDynamics::ForwardDynamics(const DiffusionOptions& o, double data_scale)
    : preserving_(o.dynamics == "vp"), unit_(data_scale * data_scale) {
  if (!preserving_ && o.dynamics != "ve")
    throw InputError("[diffusion.dynamics] expected vp or ve, got '{}'", o.dynamics);
  low_ = preserving_ ? o.beta_min : o.sigma_min, high_ = preserving_ ? o.beta_max : o.sigma_max;
  if (!(low_ > 0 && high_ >= low_ && high_ <= 1000 && (preserving_ || high_ > low_)))
    throw InputError("[diffusion.{}] expected {} positive, below diffusion.{} and that at most 1000, got {} and {}",
                     preserving_ ? "beta_min" : "sigma_min", preserving_ ? "beta_min" : "sigma_min",
                     preserving_ ? "beta_max" : "sigma_max", low_, high_);
}

double ForwardDynamics::mean(double t) const {
  return preserving_ ? std::exp(-0.5 * (low_ * t + (high_ - low_) * t * t / 2)) : 1;
}

double ForwardDynamics::intensity(double t) const {
  // vp: int beta exp(int beta); ve: sigma_t^2 - sigma_0^2.
  if (preserving_) return unit_ * std::expm1(low_ * t + (high_ - low_) * t * t / 2);
  return unit_ * low_ * low_ * std::expm1(2 * t * std::log(high_ / low_));
}

std::vector<double> ForwardDynamics::weights(int64_t steps) const {
  std::vector<double> out;
  const auto n = static_cast<double>(steps);
  for (int64_t j = 0; j < steps; ++j)
    out.push_back(n * (intensity(static_cast<double>(j + 1) / n) - intensity(static_cast<double>(j) / n)));
  return out;
}

ClockMoments::ClockMoments(const ForwardDynamics& dynamics, std::span<const double> weights,
                           std::span<const double> path)
    : dynamics_(dynamics), path_(path.begin(), path.end()), ratio_(path.size()) {
  for (size_t j = 1; j < path.size(); ++j) ratio_[j] = ratio_[j - 1] + (path[j] - path[j - 1]) * weights[j - 1];
}

double ClockMoments::ratio(double t) const {
  const auto steps = static_cast<double>(path_.size() - 1);
  const auto j = std::min(static_cast<size_t>(t * steps), path_.size() - 2);
  const double begin = static_cast<double>(j) / steps;
  return ratio_[j] + (path_[j + 1] - path_[j]) * steps * (dynamics_.intensity(t) - dynamics_.intensity(begin));
}

}  // namespace htfm
