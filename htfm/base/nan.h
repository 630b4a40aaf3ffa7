// Not a number: the value of a figure that could not be computed.
#pragma once

#include <limits>

namespace htfm {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace htfm
