#include "htfm/source/source.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>

namespace htfm {

namespace {

template <int Width>
void copy_rows(const double* from, const std::vector<int64_t>& order, double* to) {
  for (size_t i = 0; i < order.size(); ++i)
    for (int c = 0; c < Width; ++c) to[i * Width + c] = from[order[i] * Width + c];  // std::copy would call memmove
}

// Rows of a float64 tensor in another order. Short ones value by value: a call for each row would cost more.
at::Tensor rows_of(const at::Tensor& t, const std::vector<int64_t>& order) {
  using Copy = void (*)(const double*, const std::vector<int64_t>&, double*);
  static constexpr Copy kCopies[] = {copy_rows<1>, copy_rows<2>, copy_rows<3>,
                                     copy_rows<4>, copy_rows<5>, copy_rows<6>};
  const auto n = static_cast<int64_t>(order.size());
  const int64_t width = t.dim() == 1 ? 1 : t.size(1);
  if (width < 1 || width > std::ssize(kCopies) || !t.is_contiguous())
    return t.index_select(0, at::from_blob(const_cast<int64_t*>(order.data()), {n}, at::kLong));
  at::Tensor out = t.dim() == 1 ? at::empty({n}, t.options()) : at::empty({n, width}, t.options());
  kCopies[width - 1](t.const_data_ptr<double>(), order, out.mutable_data_ptr<double>());
  return out;
}

}  // namespace

void SourceBatch::reorder(const std::vector<int64_t>& order) {
  for (at::Tensor* t : {&area, &feature, &coordinates, &source, &radius})
    if (t->defined()) *t = rows_of(*t, order);
}

at::Tensor points_of_radius(Key key, const at::Tensor& radius, int64_t dim, int64_t first) {
  const int64_t n = radius.size(0);
  at::Tensor out = at::empty({n, dim}, at::kDouble);
  double* x = out.mutable_data_ptr<double>();
  const double* r = radius.const_data_ptr<double>();
  fill_normal(key, static_cast<uint64_t>(first * dim), n * dim, x);
  for (int64_t i = 0; i < n; ++i) {
    double square = 0;
    for (int64_t k = i * dim; k < (i + 1) * dim; ++k) square += x[k] * x[k];
    const double factor = r[i] / std::sqrt(square);
    for (int64_t k = i * dim; k < (i + 1) * dim; ++k) x[k] *= factor;
  }
  return out;
}

namespace {

// The rows of all processes: each brings those of its share.
SourceBatch joined(Communicator& c, const SourceBatch& own, int64_t n) {
  const Share rows = share_of(n, c);
  const auto width_of = [](const at::Tensor& t) { return t.defined() ? t.numel() / t.size(0) : 0; };
  const int64_t feature = width_of(own.feature), coordinates = width_of(own.coordinates);
  const int64_t width = 1 + feature + coordinates;
  std::vector<double> packed(static_cast<size_t>(n * width));
  const auto copy = [&](const at::Tensor& t, int64_t columns, int64_t at) {
    const double* from = columns > 0 ? t.const_data_ptr<double>() : nullptr;
    for (int64_t i = 0; i < rows.count(); ++i)
      std::copy_n(from + i * columns, columns, packed.data() + (rows.begin + i) * width + at);
  };
  copy(own.area, 1, 0), copy(own.feature, feature, 1), copy(own.coordinates, coordinates, 1 + feature);
  share_rows(c, n, width, packed.data());
  const auto whole = [&](int64_t columns, int64_t at) {
    at::Tensor t = at::empty({n, columns}, at::kDouble);
    double* to = t.mutable_data_ptr<double>();
    for (int64_t i = 0; i < n; ++i) std::copy_n(packed.data() + i * width + at, columns, to + i * columns);
    return t;
  };
  SourceBatch out;
  out.area = whole(1, 0).view({n});
  if (own.feature.defined()) out.feature = whole(feature, 1);
  if (own.coordinates.defined()) out.coordinates = whole(coordinates, 1 + feature);
  return out;
}

constexpr int64_t kSharedRows = 64;  // of a process, at the least: fewer are sooner drawn than sent

}  // namespace

SourceBatch SourceSampler::clocks(Key key, int64_t n) const {
  if (!processes_ || n < kSharedRows * processes_->size()) return clocks_from(key, 0, n);
  const Share own = share_of(n, *processes_);
  return joined(*processes_, clocks_from(key, own.begin, own.count()), n);
}

SourceBatch SourceSampler::clocks_from(Key key, int64_t first, int64_t n) const {
  const ClockSample drawn = clock_.sample(
      key.child("clock"),
      {.count = n, .first = first, .paths = feature_.needs_paths() || (schedule_ && schedule_->needs_paths())});
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
