// The figure of what cannot be said.
#pragma once

#include <limits>

namespace htfm {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace htfm
