// Rows that are near each other in what is given: the same group of categories, and within it a leaf of rows with
// numbers alike. What is ranked among neighbours is uniform given the condition.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"

namespace htfm HTFM_PUBLIC {

struct ConditionNeighbours {
  std::vector<int32_t> group, leaf;  ///< of each row; a leaf lies in one group
  int64_t groups = 1, leaves = 1;
};

/// Groups as ConditionGroups has them; a group is halved at the median of one number after the other, as long as both
/// halves have some hundred rows. Fields are near each other by their means.
ConditionNeighbours find_neighbours(const ConditionTable& table);

}  // namespace htfm
