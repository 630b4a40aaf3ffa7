// Whole numbers out of JSON that anybody may have written.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/io/text.h"

namespace htfm {

/// The whole number of 64 bits that a value is. InputError where it is another one, or has a fraction: the library
/// would cut it, and what it makes of 1e300 is not defined.
inline int64_t json_whole(const nlohmann::json& value) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
                        : value.is_number_integer();
  if (!fits) throw InputError("expected a whole number of 64 bits, got {}", printable(value.dump()));
  return value.get<int64_t>();
}

}  // namespace htfm
