// How large a truncated tensor algebra may be.
#pragma once

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

inline constexpr int kMaxChannels = 8;
inline constexpr int kMaxDepth = 6;

}  // namespace htfm
