// Estimates of rare events of anything that makes samples of latents (doc/rare-events.md): a search finds the event and
// a proposal for it, which is then fixed, and draws from the proposal are weighted; where that does not work, the
// search's thresholds are climbed again, several times and independently.
#pragma once

#include "htfm/rare/proposal.h"
#include "htfm/rare/splitting.h"

namespace htfm {

struct EstimateOptions {
  Key key = Key(0);
  int64_t draws = 30000, particles = 1500, budget = 100000;
  double least = 1e-12;
  bool splitting = false;
};

/// The probability that the level is infinite.
EventProbability estimate_event(LatentSampler& sampler, const RowLevel& level, const EstimateOptions& options);

/// The number that a statistic exceeds with this probability.
RareQuantile estimate_quantile(LatentSampler& sampler, const RowLevel& statistic, double probability,
                               const EstimateOptions& options);

/// n samples whose statistic is beyond the number that it exceeds with this probability, which is their threshold. The
/// search for the number serves the samples too.
RareSamples draw_beyond(LatentSampler& sampler, const RowLevel& statistic, double probability, int64_t n,
                        const EstimateOptions& options);

/// n samples where the level is infinite; none where the event was not reached.
RareSamples draw_event(LatentSampler& sampler, const RowLevel& level, int64_t n, const EstimateOptions& options);

}  // namespace htfm
