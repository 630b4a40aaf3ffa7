#include "htfm/rare/latents.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "htfm/base/error.h"

namespace htfm {

namespace {

// What keeps these conditions from being one row of which nothing is left to be drawn; nothing where they are.
std::string left_to_chance(const at::Tensor& conditions) {
  if (!conditions.defined()) return "none";
  if (conditions.size(0) != 1) return fmt::format("{} rows", conditions.size(0));
  return conditions.isnan().any().item<bool>() ? "only some of them" : "";
}

}  // namespace

at::Tensor normal_latents(Key key, int64_t first, int64_t n, int64_t size) {
  at::Tensor out = at::empty({n, size}, at::kDouble);
  fill_normal(key, static_cast<uint64_t>(first * size), n * size, out.mutable_data_ptr<double>());
  return out;
}

at::Tensor LatentSampler::operator()(const at::Tensor& latents) {
  const int64_t n = latents.size(0), part = part_rows();
  std::vector<at::Tensor> rows;
  for (int64_t first = 0; first < n; first += part) {
    const int64_t count = std::min(part, n - first);
    rows.push_back(make(latents.narrow(0, first, count)));
    spent_ += count;
    if (report) report(spent_);
  }
  if (rows.empty()) return at::empty({0, columns()}, at::kDouble);
  return rows.size() == 1 ? rows[0] : at::cat(rows);
}

at::Tensor LatentSampler::draw(Key key, int64_t first, int64_t n) {
  return (*this)(normal_latents(key, first, n, shape().size()));
}

ModelSampler::ModelSampler(const Model& model, SampleOptions options) : model_(model), options_(std::move(options)) {
  if (!model.method().flow())
    throw InputError(
        "[rare events] expected a model of flow matching (method = htfm), got {}, whose sampler draws "
        "noise of its own",
        model.config().method);
  if (const std::string got = left_to_chance(options_.condition.rows); model.condition().there() && !got.empty())
    throw InputError(
        "[rare events] expected every condition to be given, the same for all samples (--given {}), got {}: only the "
        "clock and the source may be drawn at random",
        model.condition().columns().empty() ? "FILE" : model.condition().columns().front().name + "=...", got);
  options_.as_drawn = false, options_.report = {};
}

LatentShape ModelSampler::shape() const {
  const ClockScores scores = model_.flow().clock().scores();
  return {scores.count, scores.levels, model_.dim()};
}

int64_t ModelSampler::columns() const { return model_.transform().columns(); }

// Blocks as sampling has them; images and fields in parts that memory holds.
int64_t ModelSampler::part_rows() const {
  const int64_t block = options_.device.is_cpu() ? model_.network().evaluation_rows() : options_.device_rows;
  const int64_t rows = std::min<int64_t>(int64_t{1} << 14, (int64_t{1} << 21) / (shape().size() + model_.dim()));
  return std::max<int64_t>(1, rows / block) * block;
}

at::Tensor ModelSampler::make(const at::Tensor& latents) {
  const LatentShape s = shape();
  const FlowMatching& flow = model_.flow();
  SourceDraws given{flow.clock().of_scores(latents.narrow(1, 0, s.clock), flow.needs_paths()),
                    latents.narrow(1, s.clock, s.dim).contiguous()};
  options_.n = latents.size(0), options_.first = spent();
  options_.given = std::make_shared<const SourceDraws>(std::move(given));
  SampleResult drawn = sample(model_, options_);
  options_.plan = drawn.plan;
  return drawn.samples.contiguous();
}

}  // namespace htfm
