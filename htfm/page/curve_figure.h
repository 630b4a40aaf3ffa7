// What a clock-dependent schedule makes of clocks: how far its alpha and beta leave the straight line.
#pragma once

#include "htfm/clock/clock.h"
#include "htfm/report/figures.h"
#include "htfm/schedule/schedule.h"

namespace htfm {

/// alpha_t - t, and beta_t - (1-t) dashed where it is not its negative, for a clock that makes its way late, one in the
/// middle and one that does so early: the 5 %, 50 % and 95 % quantiles of the first coordinate that the schedule looks
/// at.
report::Figure curve_figure(const Schedule& schedule, const Clock& clock);

}  // namespace htfm
