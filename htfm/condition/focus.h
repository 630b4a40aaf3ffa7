// Which rows a training that is given fields looks at most.
#pragma once

#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"

namespace htfm HTFM_PUBLIC {

/// How often each row is drawn against the others, by what is given of it (n x size, float64): its root mean square
/// distance from the least value, over all channels, to the power `focus`; no row less than a twentieth as often as the
/// mean. The law of a row given its field stays as it is, since the weight is a function of that field alone.
std::vector<double> focus_weights(const ConditionField& field, const at::Tensor& values, double focus);

}  // namespace htfm
