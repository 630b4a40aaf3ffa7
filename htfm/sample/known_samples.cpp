#include "htfm/sample/known_samples.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "htfm/data/condition_field.h"
#include "htfm/sample/sample_runs.h"

namespace htfm {

namespace {

// Means over blocks that are 0 say all of a field without negative values.
bool means_say_all(const Model& model) {
  if (!model.field() || !model.field()->threshold || !names_block_grid(model.config().condition.field)) return false;
  for (int64_t c = 0; c < model.image()->channels; ++c)
    if (model.field()->is_plain(c)) return false;
  return true;
}

bool all_zero(const double* values, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    if (values[k] != 0) return false;
  return true;
}

// A field without rain, as the model's rows have it or in the data's units. Where dry values are drawn it is the lowest
// of them throughout: noise there would count as waves.
at::Tensor dry_row(const Model& model, bool as_drawn) {
  const ImageShape& shape = *model.image();
  const at::Tensor field = at::zeros({1, shape.channels, shape.height, shape.width}, at::kFloat);
  if (!as_drawn) return field.reshape({-1}).to(at::kDouble);
  const at::Tensor planes = model.field()->apply(field, Key(0)).to(at::kDouble).view({shape.channels, -1});
  return planes.amin(1, true).expand_as(planes).reshape({-1});
}

}  // namespace

std::optional<KnownSamples> KnownSamples::of(const Model& model, const SampleOptions& o) {
  if (!o.condition.there() || o.given || o.solver == "dopri5" || !means_say_all(model)) return std::nullopt;
  const at::Tensor& rows = o.condition.rows;
  if (rows.dim() != 2 || rows.size(1) != model.condition().width()) return std::nullopt;  // refused in drawing
  const int64_t count = rows.size(0), each = o.condition.each;
  std::vector<char> dry(static_cast<size_t>(count));
  std::vector<int64_t> wet, before(static_cast<size_t>(count));  // wet rows, and how many lie before each row
  for (int64_t i = 0; i < count; ++i) {
    const auto k = static_cast<size_t>(i);
    dry[k] = all_zero(rows.const_data_ptr<double>() + i * rows.size(1), rows.size(1));
    before[k] = static_cast<int64_t>(wet.size());
    if (!dry[k]) wet.push_back(i);
  }
  if (wet.size() == dry.size()) return std::nullopt;
  // A sample's number among those that are drawn is that of the samples before it, so that it does not depend on parts.
  const auto drawn_before = [&](int64_t number) {
    const int64_t row = number / each % count, round = number / each / count;
    const auto k = static_cast<size_t>(row);
    return (round * static_cast<int64_t>(wet.size()) + before[k]) * each + (dry[k] ? 0 : number % each);
  };
  KnownSamples out;
  out.options_ = o;
  out.options_.first = drawn_before(o.first);
  out.options_.n = drawn_before(o.first + o.n) - out.options_.first;
  at::Tensor index = at::empty({static_cast<int64_t>(wet.size())}, at::kLong);
  std::copy(wet.begin(), wet.end(), index.mutable_data_ptr<int64_t>());
  out.options_.condition.rows = rows.index_select(0, index);
  const int64_t known = o.n - out.options_.n;
  if (o.report) {
    const auto report = o.report;
    const int64_t n = o.n;
    out.options_.report = [report, known, n](int64_t done, int64_t) { report(known + done, n); };
  }
  for (int64_t i = o.first; i < o.first + o.n; ++i) out.known_.push_back(dry[static_cast<size_t>(i / each % count)]);
  out.row_ = dry_row(model, o.as_drawn);
  out.conditions_ = conditions_of_samples(model.condition(), o, o.first, o.n);
  return out;
}

SampleResult KnownSamples::completed(const SampleResult& drawn) const {
  const auto n = static_cast<int64_t>(known_.size());
  SampleResult out = drawn;
  out.samples = row_.expand({n, row_.size(0)}).contiguous();
  out.area = at::full({n}, std::nan(""), at::kDouble);
  out.conditions = conditions_;
  out.evaluations = drawn.evaluations * static_cast<double>(options_.n) / static_cast<double>(n);
  int64_t next = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (known_[static_cast<size_t>(i)]) continue;
    out.samples[i].copy_(drawn.samples[next]);
    out.area[i] = drawn.area[next];
    ++next;
  }
  return out;
}

}  // namespace htfm
