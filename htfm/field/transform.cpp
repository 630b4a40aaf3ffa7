#include "htfm/field/transform.h"

#include <ATen/ops/empty.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "htfm/base/parallel.h"
#include "htfm/base/registry.h"
#include "htfm/field/transform_json.h"

namespace htfm {
namespace {

struct Bend {
  std::string_view name;
  double (*apply)(double);
  double (*invert)(double);
};

constexpr std::array kBends = {
    Bend{"none", [](double x) { return x; }, [](double y) { return y; }},
    Bend{"log1p", [](double x) { return std::log1p(x); }, [](double y) { return std::expm1(y); }},
    Bend{"asinh", [](double x) { return std::asinh(x); }, [](double y) { return std::sinh(y); }},
};

template <class Float>
void invert_rows(const FieldTransform& t, const Bend& bend, const Float* from, int64_t n, int64_t size, Float* to) {
  const int64_t plane = size / t.channels();
  std::vector<char> plain;
  for (int64_t c = 0; c < t.channels(); ++c) plain.push_back(t.is_plain(c));
  parallel_ranges(n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t k = 0; k < size; ++k) {
        const auto c = static_cast<size_t>(k / plane);
        if (plain[c]) {
          to[i * size + k] = static_cast<Float>(t.mean[c] + t.deviation[c] * static_cast<double>(from[i * size + k]));
          continue;
        }
        const double x = t.unit * bend.invert(t.mean[c] + t.deviation[c] * static_cast<double>(from[i * size + k]));
        to[i * size + k] = t.is_dry(x) ? Float{0} : static_cast<Float>(x);
      }
  });
}

}  // namespace

void FieldTransform::check() const {
  find_named(kBends, kind, "transform");
  if (!(unit > 0) || !std::isfinite(unit)) throw InputError("[unit] expected a positive number, got {}", unit);
  if (!(quantum >= 0) || !std::isfinite(quantum))
    throw InputError("[dequantise] expected a number of at least 0, got {}", quantum);
  if (threshold && !(*threshold > 0 && std::isfinite(*threshold)))
    throw InputError("[threshold] expected a positive number, got {}", *threshold);
  if (quantum > 0 && !threshold)
    throw InputError("[dequantise] expected a threshold with it: dry values are spread below that");
  if (!(depth >= 0) || !std::isfinite(depth))
    throw InputError("[dry-depth] expected a number of at least 0, got {}", depth);
  if (depth > 0 && !(quantum > 0)) throw InputError("[dry-depth] expected --dequantise with it");
  if (kind == "log1p" && depth >= threshold.value_or(0) + unit)
    throw InputError("[dry-depth] expected less than threshold and unit together ({}) with log1p, got {}",
                     threshold.value_or(0) + unit, depth);
}

double FieldTransform::dry(double u) const {
  if (!(quantum > 0)) return 0;
  return depth > 0 ? *threshold + depth * (u - 1) : *threshold * u;
}

double FieldTransform::dry_moment(int power) const {
  constexpr int kPoints = 1000;
  const BendFunction own = bend();
  double sum = 0;
  for (int k = 0; k < kPoints; ++k) sum += std::pow(own(dry((k + 0.5) / kPoints) / unit), power) / kPoints;
  return sum;
}

BendFunction FieldTransform::bend() const { return find_named(kBends, kind, "transform").apply; }

at::Tensor FieldTransform::apply(const at::Tensor& fields, Key key, int64_t first) const {
  const int64_t n = fields.size(0), size = n > 0 ? fields.numel() / n : 0,
                plane = size / std::max<int64_t>(1, channels());
  if (fields.size(1) != channels()) throw Error("[fields] expected {} channels, got {}", channels(), fields.size(1));
  const at::Tensor from = fields.contiguous();
  at::Tensor out = at::empty({n, size}, at::kFloat);
  const Bend& own = find_named(kBends, kind, "transform");
  const float* x = from.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  std::vector<char> smooth;
  for (int64_t c = 0; c < channels(); ++c) smooth.push_back(is_plain(c));
  parallel_ranges(n, 16, [&](int64_t begin, int64_t end) {
    std::vector<double> u(quantum > 0 ? static_cast<size_t>(size) : 0);
    for (int64_t i = begin; i < end; ++i) {
      if (quantum > 0) fill_uniform(key, static_cast<uint64_t>((first + i) * size), size, u.data());
      for (int64_t k = 0; k < size; ++k) {
        const auto c = static_cast<size_t>(k / plane);
        double v = x[i * size + k];
        if (smooth[c]) {
          y[i * size + k] = static_cast<float>((v - mean[c]) / deviation[c]);
          continue;
        }
        if (is_dry(v))
          v = dry(quantum > 0 ? u[static_cast<size_t>(k)] : 0);
        else if (quantum > 0)
          v = std::max(*threshold, v + quantum * (u[static_cast<size_t>(k)] - 0.5));
        y[i * size + k] = static_cast<float>((own.apply(v / unit) - mean[c]) / deviation[c]);
      }
    }
  });
  return out;
}

at::Tensor FieldTransform::invert(const at::Tensor& rows) const {
  const at::Tensor from = rows.contiguous();
  at::Tensor out = at::empty(from.sizes(), from.options());
  const int64_t n = from.size(0), size = n > 0 ? from.numel() / n : 0;
  const Bend& own = find_named(kBends, kind, "transform");
  if (from.scalar_type() == at::kDouble)
    invert_rows(*this, own, from.const_data_ptr<double>(), n, size, out.mutable_data_ptr<double>());
  else
    invert_rows(*this, own, from.const_data_ptr<float>(), n, size, out.mutable_data_ptr<float>());
  return out;
}

std::string FieldTransform::text() const {
  std::string out = kind == "none" ? "as they are" : unit == 1 ? kind : fmt::format("{} of x / {}", kind, unit);
  if (threshold) out += fmt::format(", dry below {}", *threshold);
  if (quantum > 0) out += fmt::format(", spread over {}", quantum);
  if (depth > 0) out += fmt::format(", dry over {}", depth);
  if (!plain.empty()) out += fmt::format(", channel {} as it is", fmt::join(plain, " and "));
  return out;
}

void to_json(nlohmann::json& j, const FieldTransform& t) {
  j = {{"kind", t.kind}, {"unit", t.unit}, {"quantum", t.quantum}, {"mean", t.mean}, {"deviation", t.deviation}};
  if (t.threshold) j["threshold"] = *t.threshold;
  if (t.depth > 0) j["depth"] = t.depth;
  if (!t.plain.empty()) j["plain"] = t.plain;
}

void from_json(const nlohmann::json& j, FieldTransform& t) {
  t.kind = j.at("kind"), t.unit = j.at("unit"), t.quantum = j.at("quantum");
  t.mean = j.at("mean").get<std::vector<double>>(), t.deviation = j.at("deviation").get<std::vector<double>>();
  if (j.contains("threshold")) t.threshold = j.at("threshold").get<double>();
  t.depth = j.value("depth", 0.0);
  t.plain = j.value("plain", std::vector<int64_t>());
  t.check();
  if (t.mean.empty() || t.mean.size() != t.deviation.size())
    throw InputError("[fields] expected a mean and a deviation for each channel");
  for (const double d : t.deviation)
    if (!(d > 0)) throw InputError("[fields] expected positive deviations, got {}", d);
}

// Two passes, field by field, so that nothing cancels.
FieldTransform fit_field_transform(const FieldTransform& settings, const at::Tensor& fields, const at::Tensor& held_out,
                                   const std::vector<std::string>& names, const std::string& where) {
  if (!fields.defined() || fields.dim() != 4 || fields.scalar_type() != at::kFloat || !fields.is_contiguous() ||
      !fields.device().is_cpu() || fields.numel() < 1)
    throw InputError("[transform] {}: expected fields n x channels x height x width of float32 on the CPU", where);
  if (!held_out.defined() || held_out.numel() != fields.size(0) || held_out.scalar_type() != at::kByte ||
      !held_out.is_contiguous())
    throw InputError("[transform] {}: expected one byte for each of {} fields", where, fields.size(0));
  settings.check();
  FieldTransform t = settings;
  const int64_t n = fields.size(0), channels = fields.size(1), plane = fields.size(2) * fields.size(3);
  const float* x = fields.const_data_ptr<float>();
  const auto* held = held_out.const_data_ptr<uint8_t>();
  const auto trained = std::count(held, held + n, uint8_t{0});
  if (trained == 0) throw InputError("[transform] {}: expected fields to train on, got only held-out ones", where);
  t.mean.assign(static_cast<size_t>(channels), 0), t.deviation.assign(static_cast<size_t>(channels), 1);
  const double first = t.dry_moment(1), second = t.dry_moment(2);  // of what a dry value becomes
  const double count = static_cast<double>(trained) * static_cast<double>(plane);
  for (int64_t c = 0; c < channels; ++c) {
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
      throw InputError("[prepare] {}: expected values of '{}' that vary, got {}", where,
                       c < static_cast<int64_t>(names.size()) ? names[static_cast<size_t>(c)] : std::to_string(c),
                       spread > 0 ? "dry ones alone" : "one value alone");
  }
  return t;
}

}  // namespace htfm
