// Whether directions point to all sides alike.
#pragma once

#include <cstdint>
#include <vector>

namespace htfm {

/// Of k unit vectors (k x dim, row by row), tested at 1 % by their mean (Rayleigh), their second moments (Bingham) and
/// the fourth powers of their coordinates.
bool evenly_spread(const std::vector<double>& directions, int64_t dim);

}  // namespace htfm
