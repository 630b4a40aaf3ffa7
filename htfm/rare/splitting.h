// Multilevel splitting: a population of latents that climbs towards an event by thresholds of its level. From each
// threshold to the next the particles that have reached it are copied in place of the others and moved on by steps that
// leave the standard normal law, given the threshold, as it is.
#pragma once

#include <vector>

#include "htfm/rare/event_level.h"

namespace htfm {

/// Latents (n x size, float64), the levels of their samples, and where asked for the samples.
struct Population {
  at::Tensor latents;
  std::vector<double> level;
  at::Tensor rows;
};

/// One threshold, and the steps of the moves beyond it.
struct Rung {
  double threshold;
  std::vector<double> steps;
};

/// A climb: `last` is beyond the last threshold.
struct Climb {
  std::vector<Rung> rungs;
  double log_probability = 0;  ///< of being beyond the last threshold
  bool reached = true;         ///< false: the event is rarer than `least`, or nothing comes nearer to it
  double bound = 0;            ///< not reached: of the event's probability
  Population last;
};

struct SplittingOptions {
  Key key = Key(0);
  int64_t particles = 1500;
  int sweeps = 2;        ///< moves of every particle at a threshold
  int last_sweeps = 5;   ///< at the last one
  double share = 0.2;    ///< of the particles that lie beyond the next threshold
  double least = 1e-12;  ///< probability below which a climb is given up
  double until = 0;      ///< where positive: ends at the threshold that is exceeded with this probability
};

/// Climbs to where the level is infinite, or until a probability; thresholds are those of this population.
Climb climb(LatentSampler& sampler, const RowLevel& level, const SplittingOptions& options);

/// Climbs by given thresholds and steps: exp(log_probability) times the mean of f over `last` is then an unbiased
/// estimate of E f 1(beyond the last threshold). `reached` is false where no particle met some threshold.
Climb climb_again(LatentSampler& sampler, const RowLevel& level, const std::vector<Rung>& rungs, Key key,
                  int64_t particles);

}  // namespace htfm
