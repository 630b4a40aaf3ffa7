// Tells of values of a table that may be errors.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/data/dataset.h"

namespace htfm HTFM_PUBLIC {

/// A sentence for each side of a column of numbers with values so far from all others that they may be errors
/// (htfm/stat/stray_values.h).
std::vector<std::string> stray_sentences(const Dataset& table);

}  // namespace htfm
