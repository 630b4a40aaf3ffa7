// The layout that the kernels of this module read: eight points a block, coordinate by coordinate.
#pragma once

#include <cstddef>
#include <cstdint>

namespace htfm {

/// Points of a block.
inline constexpr int kBlock = 8;

constexpr int64_t block_count(int64_t n) { return (n + kBlock - 1) / kBlock; }
/// Numbers that n points take in blocks.
constexpr size_t blocked_size(int64_t n, int64_t dim) { return static_cast<size_t>(block_count(n) * kBlock * dim); }

/// Writes rows rows[0..n) of the row-major x (rows 0..n-1 where rows is null) to out[0..blocked_size(n, dim)).
/// Lanes behind the last point become infinity: no distance to them is ever the smaller one.
void fill_blocks(const double* x, int64_t dim, const int64_t* rows, int64_t n, double* out);

}  // namespace htfm
