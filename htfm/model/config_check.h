// What no single key of a configuration can tell.
#pragma once

#include "htfm/model/config.h"

namespace htfm {

/// Refuses names that no registry knows and values that do not go together, and sets what follows from others: the
/// clock's own parameters, the options of the parts that were chosen, the sizes of the network.
void check_config(RunConfig& config);

}  // namespace htfm
