#include "htfm/path/source.h"

#include <ATen/ops/from_blob.h>

namespace htfm {

void SourceBatch::reorder(const std::vector<int64_t>& order) {
  const at::Tensor index = at::from_blob(const_cast<int64_t*>(order.data()), {static_cast<int64_t>(order.size())}, at::kLong);
  area = area.index_select(0, index);
  if (feature.defined()) feature = feature.index_select(0, index);
  if (source.defined()) source = source.index_select(0, index);
}

SourceBatch SourceSampler::clocks(Key key, int64_t n) const {
  const ClockSample drawn = clock_.sample(key.child("clock"), {.count = n, .paths = feature_.needs_paths()});
  SourceBatch out;
  out.area = drawn.area;
  if (feature_.size() > 0) out.feature = feature_(drawn);
  return out;
}

SourceBatch SourceSampler::draw(Key key, int64_t n, int64_t dim) const {
  SourceBatch out = clocks(key, n);
  out.source = sample_source(key.child("source"), out.area, dim);
  return out;
}

}  // namespace htfm
