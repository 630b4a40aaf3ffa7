// The law of V in x = centre + sqrt(V) z, z normal, estimated from the radii of the data: a random clock that the data
// choose.
#pragma once

#include <cstdint>
#include <span>

#include "htfm/base/quantile_table.h"
#include "htfm/stat/threshold.h"

namespace htfm {

struct MixingOptions {
  double slack = 3;  // log-likelihood that smoothness may cost
  int64_t steps = 600;
};

struct MixingLaw {
  QuantileTable law;          // of V
  double log_likelihood = 0;  // mean log density of log r^2
  double smoothing = 0;       // of one step, in standard deviations of log chi^2
  double join = 0;            // radius beyond which the tail is a power law; 0 where there is no such tail
};

/// r^2 = V chi^2_dim, so log r^2 is log V plus noise of a known law. The density of log V is constant on the cells of a
/// fine grid; where `tail` is heavy a Pareto tail of index / 2 follows, from where the fitted law of the radius is a
/// power law. Of the laws whose log-likelihood is within `slack` of the largest one it is the smoothest: the largest
/// one itself sits on a few points.
MixingLaw fit_mixing_law(std::span<const double> sorted_radii, int64_t dim, const TailChoice& tail, bool heavy,
                         const MixingOptions& options = {});

}  // namespace htfm
