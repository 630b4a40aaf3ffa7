// Tells of values of a table that may be errors.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/data/dataset.h"
#include "htfm/data/table_transform.h"

namespace htfm HTFM_PUBLIC {

/// A sentence for each side of a column of numbers with values so far from all others that they may be errors
/// (htfm/stat/stray_values.h), and what becomes of them: `drawn`, if any, is the transform of the table that samples
/// come from.
std::vector<std::string> stray_sentences(const Dataset& table, const TableTransform* drawn = nullptr);

}  // namespace htfm
