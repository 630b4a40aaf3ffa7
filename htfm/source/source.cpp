#include "htfm/source/source.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace htfm {

void SourceBatch::reorder(const std::vector<int64_t>& order) {
  const at::Tensor index =
      at::from_blob(const_cast<int64_t*>(order.data()), {static_cast<int64_t>(order.size())}, at::kLong);
  area = area.index_select(0, index);
  if (feature.defined()) feature = feature.index_select(0, index);
  if (coordinates.defined()) coordinates = coordinates.index_select(0, index);
  if (source.defined()) source = source.index_select(0, index);
}

SourceBatch SourceSampler::clocks(Key key, int64_t n) const {
  const ClockSample drawn = clock_.sample(
      key.child("clock"), {.count = n, .paths = feature_.needs_paths() || (schedule_ && schedule_->needs_paths())});
  SourceBatch out;
  out.area = drawn.area;
  if (feature_.size() > 0) out.feature = feature_(drawn);
  if (schedule_) out.coordinates = (*schedule_)(drawn);
  return out;
}

SourceBatch SourceSampler::of_slopes(const std::vector<double>& slope) const {
  const auto n = static_cast<int64_t>(slope.size()), points = static_cast<int64_t>(clock_.grid()) + 1;
  ClockSample clocks;
  clocks.end = at::empty({n}, at::kDouble);
  clocks.area = at::empty({n}, at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    clocks.end.mutable_data_ptr<double>()[i] = slope[i];
    clocks.area.mutable_data_ptr<double>()[i] = slope[i] / 2;
  }
  if (feature_.needs_paths()) {
    clocks.paths = at::empty({n, points}, at::kDouble);
    double* path = clocks.paths.mutable_data_ptr<double>();
    for (int64_t i = 0; i < n * points; ++i)
      path[i] = slope[i / points] * static_cast<double>(i % points) / static_cast<double>(clock_.grid());
  }
  SourceBatch out;
  out.area = clocks.area;
  if (feature_.size() > 0) out.feature = feature_(clocks);
  if (schedule_) out.coordinates = (*schedule_)(clocks);
  return out;
}

SourceBatch SourceSampler::draw(Key key, int64_t n, int64_t dim) const {
  SourceBatch out = clocks(key, n);
  out.source = sample_source(key.child("source"), out.area, dim);
  place(out.area, out.source);
  return out;
}

}  // namespace htfm
