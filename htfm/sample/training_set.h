// The prepared set of fields that a model was trained on.
#pragma once

#include <optional>

#include "htfm/field/field_set.h"
#include "htfm/model/model.h"

namespace htfm {

/// None where the path of its configuration has no set, or another one.
std::optional<FieldSet> open_training_set(const Model& model);

}  // namespace htfm
