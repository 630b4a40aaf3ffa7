// Training that ends in time.
#pragma once

#include <string>
#include <vector>

#include "htfm/data/dataset.h"
#include "htfm/model/config.h"

namespace htfm {

/// How many rows of a table `htfm fit` has time for: all of them, or fewer where one pass over all, and looking at all,
/// would take longer than `seconds` on this machine.
int64_t rows_in_time(const RunConfig& base, const Dataset& table, const std::vector<std::string>& settings,
                     double seconds);

/// Shortens a training that would take longer than `seconds` at the rate that a short one has on this machine. Returns
/// a sentence where it was shortened, else nothing.
std::string fit_to_time(RunConfig& config, const Dataset& data, double seconds);

/// The same of the networks of a table's discrete columns, which are trained before it: fewer steps of each.
std::string fit_states_to_time(RunConfig& config, const Dataset& data, double seconds);

}  // namespace htfm
