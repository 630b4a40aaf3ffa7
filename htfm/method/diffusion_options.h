// The keys diffusion.* of a configuration.
#pragma once

#include <string>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct DiffusionOptions {
  std::string dynamics = "vp";              ///< vp: f = -beta/2, G^2 = beta | ve: f = 0, G^2 = the growth of sigma^2
  double beta_min = 0.1, beta_max = 20;     ///< vp: beta_t between these, linear in t
  double sigma_min = 0.01, sigma_max = 50;  ///< ve: sigma_t between these, geometric in t
  std::string grid =
      "angle";  ///< of samplers: angle (each clock at its own levels of noise) | time (the same times for all)
  double threshold = 0.2;  ///< mixed samplers: from which share of the noise (mixed) or of the way (mixed-flow) on an
                           ///< increment is a jump
};

}  // namespace htfm
