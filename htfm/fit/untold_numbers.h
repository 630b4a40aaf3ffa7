// Which of the numbers that are given the network need not be told, because centre and scale alone go with them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "htfm/base/random.h"
#include "htfm/condition/condition_table.h"

namespace htfm {

/// Names of the numbers of `given` on which scores (n x d, float64, of laws that follow centre and scale) do not depend
/// as far as the rows can tell: neither a column nor the product of two, among all rows and in each group of
/// categories. None where the rows are too few to tell, or the columns too many.
std::vector<std::string> untold_numbers(const at::Tensor& scores, const ConditionTable& given, Key key);

}  // namespace htfm
