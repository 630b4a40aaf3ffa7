// What must be the same for a prepared set that is taken up again.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "htfm/field/prepare.h"

namespace htfm {

nlohmann::json resume_settings(const PrepareSpec& spec);

}  // namespace htfm
