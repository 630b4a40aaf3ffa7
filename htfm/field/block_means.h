// Fields on a coarser grid: means over blocks of points, and what a fine field lacks to have given ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Means of n x c x h x w over blocks: n x c x height x width, float64. The sizes must divide those of the fields.
at::Tensor block_means(const at::Tensor& fields, int64_t height, int64_t width);

/// Moves fields (n x c x h x w, in place) so that their means over blocks are `means` (n x c x height x width). A
/// channel that is positive is multiplied, block by block, so that what is 0 stays 0; a block of zeros whose mean
/// should be positive becomes that mean everywhere. Any other channel is shifted.
void match_block_means(at::Tensor& fields, const at::Tensor& means, const std::vector<bool>& positive);

}  // namespace htfm
