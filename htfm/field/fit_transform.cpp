// How a network is to see fields, from the part of them that is trained on.
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/field/transform.h"
#include "htfm/io/dtype.h"

namespace htfm {
namespace {

constexpr int64_t kWetValues = int64_t{1} << 25;  // that a law is fitted to, at the most
constexpr int64_t kDistances = int64_t{1} << 21;  // of dry points, likewise
constexpr int64_t kTogether = 64;                 // fields whose distances are in memory

// What a transform is fitted to.
struct FittedPart {
  const at::Tensor& fields;
  const WetOutside& outside;
  const uint8_t* held;
  const std::vector<std::string>& names;
  const std::string& where;

  int64_t plane() const { return fields.size(2) * fields.size(3); }
  const float* field(int64_t i, int64_t channel) const {
    return fields.const_data_ptr<float>() + (i * fields.size(1) + channel) * plane();
  }
  std::vector<int64_t> trained() const {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < fields.size(0); ++i)
      if (!held[i]) out.push_back(i);
    return out;
  }
  [[noreturn]] void refuse(int64_t channel, const char* found) const {
    const auto c = static_cast<size_t>(channel);
    throw InputError("[prepare] {}: expected values of '{}' that vary, got {}", where,
                     c < names.size() ? names[c] : std::to_string(channel), found);
  }
  /// Visits some fields with their distances from the rain, part by part.
  template <class Visit>
  void visit_distances(const std::vector<int64_t>& index, const FieldTransform& t, int64_t channel,
                       const Visit& visit) const {
    for (size_t first = 0; first < index.size(); first += kTogether) {
      const std::vector<int64_t> some(index.begin() + static_cast<int64_t>(first),
                                      index.begin() + static_cast<int64_t>(std::min(index.size(), first + kTogether)));
      const at::Tensor distance = dry_distance(fields, some, outside, *t.threshold, t.reach);
      for (size_t k = 0; k < some.size(); ++k)
        visit(some[k],
              distance.const_data_ptr<float>() + (static_cast<int64_t>(k) * fields.size(1) + channel) * plane());
    }
  }
};

// The law of a channel, as scores; of very many values every so many-th is enough.
void fit_scores(FieldTransform& t, const FittedPart& part, int64_t channel) {
  const auto c = static_cast<size_t>(channel);
  const std::vector<int64_t> trained = part.trained();
  const int64_t plane = part.plane();
  const double points = static_cast<double>(trained.size()) * static_cast<double>(plane);
  int64_t wet = 0;
  for (const int64_t i : trained)
    for (int64_t k = 0; k < plane; ++k) wet += !t.is_dry(static_cast<double>(part.field(i, channel)[k]));
  FieldLawSample sample{.wet_share = static_cast<double>(wet) / points, .has_threshold = t.threshold.has_value()};
  sample.least = t.threshold.value_or(0);
  const int64_t every = std::max<int64_t>(1, wet / kWetValues);
  int64_t seen = 0;
  for (const int64_t i : trained) {
    const float* x = part.field(i, channel);
    float most = x[0];
    for (int64_t k = 0; k < plane; ++k) {
      most = std::max(most, x[k]);
      if (!t.is_dry(static_cast<double>(x[k])) && seen++ % every == 0) sample.wet.push_back(static_cast<double>(x[k]));
    }
    sample.maxima.push_back(static_cast<double>(most));
  }
  if (wet == 0) part.refuse(channel, "only dry ones");
  if (std::ranges::min(sample.wet) == std::ranges::max(sample.wet)) part.refuse(channel, "a single value");
  if (t.reach > 0 && !(t.depth > 0)) {
    const int64_t dry = static_cast<int64_t>(points) - wet, stride = std::max<int64_t>(1, dry / kDistances);
    int64_t count = 0;
    part.visit_distances(trained, t, channel, [&](int64_t, const float* distance) {
      for (int64_t k = 0; k < plane; ++k)
        if (distance[k] > 0 && count++ % stride == 0) sample.distance.push_back(static_cast<double>(distance[k]));
    });
  }
  t.laws[c] = FieldLaw::fit(std::move(sample), t.scores);
  t.mean[c] = t.laws[c].mean(), t.deviation[c] = t.laws[c].deviation();
}

// Mean and deviation where dry points have hidden values by their distance from the rain.
void fit_hidden(FieldTransform& t, const FittedPart& part, int64_t channel) {
  const auto c = static_cast<size_t>(channel);
  FieldTransform own = t;
  own.mean = {0}, own.deviation = {1}, own.plain = {};
  if (t.scored()) own.laws = {t.laws[c]};
  const int64_t height = part.fields.size(2), width = part.fields.size(3);
  double sum = 0, squares = 0, count = 0;
  const Key key = Key(0).child("hidden");
  part.visit_distances(part.trained(), t, channel, [&](int64_t i, const float* distance) {
    const at::Tensor field = part.fields.narrow(0, i, 1).narrow(1, channel, 1),
                     away = at::from_blob(const_cast<float*>(distance), {1, 1, height, width}, at::kFloat);
    const at::Tensor seen = own.apply(field, key, i, away).to(at::kDouble);
    sum += seen.sum().item<double>(), squares += seen.square().sum().item<double>();
    count += static_cast<double>(seen.numel());
  });
  const double mean = sum / count, variance = squares / count - mean * mean;
  if (!std::isfinite(mean))
    throw InputError(
        "[transform] {}: expected values whose mean after {} is finite, got {} (--transform none or asinh take any)",
        part.where, t.kind, mean);
  if (!(variance > 0)) part.refuse(channel, "a single value");
  t.mean[c] = mean, t.deviation[c] = std::sqrt(variance);
}

}  // namespace

// Two passes, field by field, so that nothing cancels.
FieldTransform fit_field_transform(const FieldTransform& settings, const at::Tensor& fields, const at::Tensor& held_out,
                                   const std::vector<std::string>& names, const std::string& where,
                                   const WetOutside& outside) {
  if (!fields.defined() || fields.dim() != 4 || fields.scalar_type() != at::kFloat || !fields.is_contiguous() ||
      !fields.device().is_cpu() || fields.numel() < 1)
    throw InputError("[transform] {}: expected fields n x channels x height x width of float32 on the CPU, got {}",
                     where, tensor_text(fields));
  if (!held_out.defined() || held_out.numel() != fields.size(0) || held_out.scalar_type() != at::kByte ||
      !held_out.is_contiguous())
    throw InputError("[transform] {}: expected one byte for each of {} fields that says whether it is held out, got {}",
                     where, fields.size(0), tensor_text(held_out));
  settings.check();
  FieldTransform t = settings;
  const int64_t n = fields.size(0), channels = fields.size(1), plane = fields.size(2) * fields.size(3);
  const float* x = fields.const_data_ptr<float>();
  const auto* held = held_out.const_data_ptr<uint8_t>();
  const auto trained = std::count(held, held + n, uint8_t{0});
  if (trained == 0) throw InputError("[transform] {}: expected fields to train on, got only held-out ones", where);
  t.mean.assign(static_cast<size_t>(channels), 0), t.deviation.assign(static_cast<size_t>(channels), 1);
  const FittedPart part{fields, outside, held, names, where};
  if (t.scored()) t.laws.resize(t.mean.size());
  const double first = t.dry_moment(1), second = t.dry_moment(2);  // of what a dry value becomes
  const double count = static_cast<double>(trained) * static_cast<double>(plane);
  for (int64_t c = 0; c < channels; ++c) {
    if (!t.is_plain(c) && (t.scored() || t.reach > 0)) {
      if (t.scored()) fit_scores(t, part, c);
      if (t.depth > 0) fit_hidden(t, part, c);
      continue;
    }
    const auto field = [&](int64_t i) { return x + (i * channels + c) * plane; };
    const bool plain = t.is_plain(c);
    const BendFunction bend = plain ? [](double v) { return v; } : t.bend();
    const double unit = plain ? 1 : t.unit;
    double sum = 0, squares = 0, lowest = std::numeric_limits<double>::infinity();
    int64_t spread = 0;  // dry values
    for (int64_t i = 0; i < n; ++i) {
      double own = 0;
      for (int64_t k = 0; k < plane && !held[i]; ++k) {
        const double v = field(i)[k];
        lowest = std::min(lowest, v);
        if (!plain && t.is_dry(v))
          ++spread;
        else
          own += bend(v / unit);
      }
      sum += own;
    }
    const double mean = (sum + static_cast<double>(spread) * first) / count;
    if (!std::isfinite(mean))
      throw InputError("[transform] expected values above {}, got {} (choose asinh or none)", -unit, lowest);
    for (int64_t i = 0; i < n; ++i) {
      double own = 0;
      for (int64_t k = 0; k < plane && !held[i]; ++k)
        if (const double v = field(i)[k]; plain || !t.is_dry(v))
          own += (bend(v / unit) - mean) * (bend(v / unit) - mean);
      squares += own;
    }
    squares += static_cast<double>(spread) * (second - 2 * mean * first + mean * mean);
    t.mean[static_cast<size_t>(c)] = mean;
    t.deviation[static_cast<size_t>(c)] = std::sqrt(squares / count);
    if (!(squares > 0) || static_cast<double>(spread) == count)
      part.refuse(c, spread > 0 ? "only dry ones" : "a single value");
  }
  return t;
}

}  // namespace htfm
