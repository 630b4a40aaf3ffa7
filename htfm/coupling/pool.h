// The pool coupling: a data point of level u gets the source point whose radius is the u-quantile of the source's own
// law.
#pragma once

#include "htfm/coupling/coupling.h"

namespace htfm {

std::unique_ptr<Coupling> make_pool_coupling(const CouplingContext& context);

}  // namespace htfm
