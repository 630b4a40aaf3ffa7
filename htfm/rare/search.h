// The search for an event: a climb, and a proposal fitted to where it ended.
#pragma once

#include "htfm/rare/estimate.h"

namespace htfm {

enum class RareMethod { plain, importance, splitting };
const char* name_of(RareMethod method);

struct Search {
  Climb climb;
  RareMethod method = RareMethod::plain;
  Proposal proposal;
  double threshold = 0;  ///< the event: the level is at least this
  double accepted = 1;   ///< share of proposed samples that belong to the event
};

/// Searches the event that the level is infinite; or, with a positive `until`, that it is beyond the number exceeded
/// with this probability.
Search search_event(LatentSampler& sampler, const RowLevel& level, double until, const EstimateOptions& options);

}  // namespace htfm
