// How large a truncated tensor algebra may be.
#pragma once

namespace htfm {

inline constexpr int kMaxChannels = 8;
inline constexpr int kMaxDepth = 6;

}  // namespace htfm
