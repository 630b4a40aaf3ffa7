// The schedule of DLPM and DLIM.
#pragma once

#include <cstdint>
#include <vector>

namespace htfm {

/// x_n = mean_n x_0 + noise_n eps after steps x_n = step_mean_n x_(n-1) + step_noise_n eps, n = 0..size-1: the cosine
/// schedule with exponents 1/alpha, so that the law of the noise stays the same.
struct StableSchedule {
  StableSchedule(int64_t size, double alpha);
  std::vector<double> step_mean, mean, step_noise, noise;
};

}  // namespace htfm
