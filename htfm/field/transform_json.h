// A field transform as JSON, as checkpoints and prepared sets keep it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "htfm/field/transform.h"

namespace htfm {

void to_json(nlohmann::json& j, const FieldTransform& t);
void from_json(const nlohmann::json& j, FieldTransform& t);

}  // namespace htfm
