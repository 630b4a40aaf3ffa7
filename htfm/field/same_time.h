// What to do about a file that has several fields where one is wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "htfm/field/field_message.h"

namespace htfm {

/// How the fields of a file that a choice finds at one time, for one member, differ from each other, and what chooses
/// one of them: an option, or a command of ecCodes where there is no option.
std::string same_time_text(const std::string& file, const FieldChoice& choice, int64_t time,
                           std::optional<int64_t> member);

}  // namespace htfm
