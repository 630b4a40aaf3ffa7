// Optimal transport given the clock (Theorem C.4 of the paper): several sources of one clock, paired at the least cost
// with as many data.
#pragma once

#include "htfm/coupling/coupling.h"

namespace htfm {

std::unique_ptr<Coupling> make_ot_given_clock(const CouplingContext& context);

}  // namespace htfm
