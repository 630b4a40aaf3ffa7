// Fields that are given beside the rows of a data set.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/data/dataset.h"

namespace htfm HTFM_PUBLIC {

/// The fields that condition.field names: "16x16", the rows' own means over a grid of 16 x 16 blocks, in their own
/// units; or the path of a prepared set with as many fields of the same places and parts, on the same or a coarser
/// grid. InputError where the rows are no images, or the grids do not fit.
ConditionTable given_fields(const Dataset& data, const std::string& field);

/// Whether condition.field names a grid of blocks, "16x16": rows are given by their own means.
bool names_block_grid(const std::string& field);

}  // namespace htfm
