#include "htfm/field/block_means.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include "htfm/base/error.h"

namespace htfm {

namespace {

// n x c x height x block x width x block.
at::Tensor in_blocks(const at::Tensor& fields, int64_t height, int64_t width) {
  const int64_t h = fields.size(2), w = fields.size(3);
  if (height < 1 || width < 1 || h % height != 0 || w % width != 0)
    throw InputError("[condition.field] expected a grid whose sizes divide {} x {}, got {} x {}", h, w, height, width);
  return fields.reshape({fields.size(0), fields.size(1), height, h / height, width, w / width});
}

}  // namespace

at::Tensor block_means(const at::Tensor& fields, int64_t height, int64_t width) {
  return in_blocks(fields.to(at::kDouble), height, width).mean({3, 5});
}

void match_block_means(at::Tensor& fields, const at::Tensor& means, const std::vector<bool>& positive) {
  const int64_t height = means.size(2), width = means.size(3);
  for (int64_t c = 0; c < fields.size(1); ++c) {
    const at::Tensor own = fields.narrow(1, c, 1), given = means.narrow(1, c, 1).unsqueeze(3).unsqueeze(5);
    const at::Tensor blocks = in_blocks(own.to(at::kDouble), height, width), mean = blocks.mean({3, 5}, true);
    const at::Tensor matched = positive[static_cast<size_t>(c)]
                                   ? at::where(mean > 0, blocks * (given / mean), given.expand_as(blocks))
                                   : blocks + (given - mean);
    own.copy_(matched.reshape(own.sizes()));
  }
}

}  // namespace htfm
