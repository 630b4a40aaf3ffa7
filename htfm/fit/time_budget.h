// Training that ends in time.
#pragma once

#include <string>

#include "htfm/data/dataset.h"
#include "htfm/model/config.h"

namespace htfm {

/// Shortens a training that would take longer than `seconds` at the rate that a short one has on this machine. Returns
/// a sentence where it was shortened, else nothing.
std::string fit_to_time(RunConfig& config, const Dataset& data, double seconds);

}  // namespace htfm
