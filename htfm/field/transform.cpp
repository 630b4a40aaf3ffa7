#include "htfm/field/transform.h"

#include <ATen/ops/empty.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "htfm/base/parallel.h"
#include "htfm/base/registry.h"
#include "htfm/field/transform_json.h"
#include "htfm/io/json_whole.h"

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
    Bend{"scores", [](double x) { return x; }, [](double y) { return y; }},  // by the laws of the channels
};

constexpr int64_t kCalibrationValues = int64_t{1} << 25;  // of a channel, at the most

// Back from scores; what is dry is seen from the score alone.
template <class Float>
void invert_scores(const FieldTransform& t, const Float* from, int64_t n, int64_t size, Float* to) {
  const int64_t channels = t.channels(), plane = size / channels;
  std::vector<double> edge;
  for (int64_t c = 0; c < channels; ++c) edge.push_back(t.is_plain(c) ? 0 : t.laws[static_cast<size_t>(c)].edge());
  parallel_ranges(n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin * channels; task < end * channels; ++task) {
      const auto c = static_cast<size_t>(task % channels);
      const bool plain = t.is_plain(static_cast<int64_t>(c));
      for (int64_t k = task * plane; k < (task + 1) * plane; ++k) {
        const double y = t.mean[c] + t.deviation[c] * static_cast<double>(from[k]);
        const bool as_it_is = plain || !std::isfinite(y);
        to[k] = static_cast<Float>(as_it_is ? y : y <= edge[c] ? 0.0 : t.laws[c].value(y));
      }
    }
  });
}

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
    throw InputError("[dequantise] expected --threshold with it, below which dry values are spread; got none");
  if (!(depth >= 0) || !std::isfinite(depth))
    throw InputError("[dry-depth] expected a number of at least 0, got {}", depth);
  if (!(reach >= 0) || !(reach < 32768)) throw InputError("[dry-reach] expected 0 to 32767 points, got {}", reach);
  if (reach > 0 && !threshold)
    throw InputError("[dry-reach] expected --threshold with it, below which a point is dry; got none");
  if (reach > 0 && !scored() && !(depth > 0))
    throw InputError("[dry-reach] expected --dry-depth with it, or --transform scores; got neither");
  ScoreLaw::named(scores);
  if (scored() && quantum > 0)
    throw InputError(
        "[dequantise] expected none with --transform scores, which spreads values that occur often; got {}", quantum);
  if (scored() && depth > 0 && !(reach > 0))
    throw InputError(
        "[dry-depth] expected --dry-reach with it, since dry points lie below 0 by their distance from rain; got none");
  if (!scored() && depth > 0 && !(quantum > 0)) throw InputError("[dry-depth] expected --dequantise with it, got none");
  if (kind == "log1p" && depth >= threshold.value_or(0) + unit)
    throw InputError("[dry-depth] expected less than threshold and unit together ({}) with log1p, got {}",
                     threshold.value_or(0) + unit, depth);
}

double FieldTransform::dry(double u) const {
  if (!(quantum > 0)) return 0;
  return depth > 0 ? *threshold + depth * (u - 1) : *threshold * u;
}

// What is further away than the reach is told apart from field to field, by u.
double FieldTransform::hidden(double distance, double u) const {
  constexpr double kFar = 0.1;
  const double edge = scored() ? 0 : *threshold;
  return edge - depth * (distance < reach ? distance / reach : 1 + kFar * u);
}

double FieldTransform::dry_moment(int power) const {
  constexpr int kPoints = 1000;
  const BendFunction own = bend();
  double sum = 0;
  for (int k = 0; k < kPoints; ++k) sum += std::pow(own(dry((k + 0.5) / kPoints) / unit), power) / kPoints;
  return sum;
}

BendFunction FieldTransform::bend() const { return find_named(kBends, kind, "transform").apply; }

at::Tensor FieldTransform::apply(const at::Tensor& fields, Key key, int64_t first, const at::Tensor& given) const {
  const int64_t n = fields.size(0), size = n > 0 ? fields.numel() / n : 0,
                plane = size / std::max<int64_t>(1, channels());
  if (fields.size(1) != channels()) throw Error("[fields] expected {} channels, got {}", channels(), fields.size(1));
  const at::Tensor from = fields.contiguous();
  at::Tensor distance = given;
  if (reach > 0 && !distance.defined()) {
    std::vector<int64_t> all(static_cast<size_t>(n));
    std::iota(all.begin(), all.end(), int64_t{0});
    distance = dry_distance(from, all, {}, *threshold, reach);
  }
  at::Tensor out = at::empty({n, size}, at::kFloat);
  const Bend& own = find_named(kBends, kind, "transform");
  const float* x = from.const_data_ptr<float>();
  const float* away = distance.defined() ? distance.const_data_ptr<float>() : nullptr;
  float* y = out.mutable_data_ptr<float>();
  const bool spread = quantum > 0 || scored();
  std::vector<char> smooth;
  for (int64_t c = 0; c < channels(); ++c) smooth.push_back(is_plain(c));
  const Key far = key.child("far");
  parallel_ranges(n, 16, [&](int64_t begin, int64_t end) {
    std::vector<double> u(spread ? static_cast<size_t>(size) : 0);
    for (int64_t i = begin; i < end; ++i) {
      if (spread) fill_uniform(key, static_cast<uint64_t>((first + i) * size), size, u.data());
      const double of_field = away ? far.uniform(static_cast<uint64_t>(first + i)) : 0;
      for (int64_t k = 0; k < size; ++k) {
        const auto c = static_cast<size_t>(k / plane);
        const auto at = i * size + k;
        double v = x[at];
        if (smooth[c]) {
          y[at] = static_cast<float>((v - mean[c]) / deviation[c]);
          continue;
        }
        const double drawn = spread ? u[static_cast<size_t>(k)] : 0;
        if (scored()) {
          const FieldLaw& law = laws[c];
          const double score = !is_dry(v)  ? law.wet_score(v, drawn)
                               : !away     ? law.drawn_dry_score(drawn)
                               : depth > 0 ? hidden(away[at], of_field)
                                           : law.dry_score(away[at], away[at] < reach ? drawn : of_field);
          y[at] = static_cast<float>((score - mean[c]) / deviation[c]);
          continue;
        }
        if (is_dry(v))
          v = away ? hidden(away[at], of_field) : dry(drawn);
        else if (quantum > 0)
          v = std::max(*threshold, v + quantum * (drawn - 0.5));
        y[at] = static_cast<float>((own.apply(v / unit) - mean[c]) / deviation[c]);
      }
    }
  });
  return out;
}

at::Tensor FieldTransform::with_gains(const at::Tensor& rows) const {
  if (gains.empty()) return rows.contiguous();
  const int64_t count = channels(), n = rows.size(0), plane = n > 0 ? rows.numel() / n / count : 0;
  at::Tensor out = rows.to(at::kDouble, false, true).contiguous();
  double* x = out.mutable_data_ptr<double>();
  parallel_ranges(n * count, 8, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      gains[static_cast<size_t>(k % count)].apply({x + k * plane, static_cast<size_t>(plane)});
  });
  return out;
}

at::Tensor FieldTransform::invert(const at::Tensor& rows) const {
  if (!gains.empty() && rows.scalar_type() != at::kDouble) return invert(rows.to(at::kDouble)).to(rows.scalar_type());
  const at::Tensor from = with_gains(rows);
  at::Tensor out = at::empty(from.sizes(), from.options());
  const int64_t n = from.size(0), size = n > 0 ? from.numel() / n : 0;
  if (scored()) {
    if (from.scalar_type() == at::kDouble)
      invert_scores(*this, from.const_data_ptr<double>(), n, size, out.mutable_data_ptr<double>());
    else
      invert_scores(*this, from.const_data_ptr<float>(), n, size, out.mutable_data_ptr<float>());
    return out;
  }
  const Bend& own = find_named(kBends, kind, "transform");
  if (from.scalar_type() == at::kDouble)
    invert_rows(*this, own, from.const_data_ptr<double>(), n, size, out.mutable_data_ptr<double>());
  else
    invert_rows(*this, own, from.const_data_ptr<float>(), n, size, out.mutable_data_ptr<float>());
  return out;
}

void FieldTransform::calibrate(const at::Tensor& drawn) {
  if (!scored()) return;
  const at::Tensor rows = with_gains(drawn);
  const int64_t n = rows.size(0), plane = rows.size(1) / channels();
  for (int64_t c = 0; c < channels(); ++c) {
    if (is_plain(c)) continue;
    // Of many values every so many-th: a step that has no factor in common with the rows of a field.
    int64_t step = std::max<int64_t>(1, n * plane / kCalibrationValues);
    while (std::gcd(step, plane) > 1) ++step;
    const at::Tensor own = rows.narrow(1, c * plane, plane).to(at::kDouble).contiguous();
    const double* z = own.const_data_ptr<double>();
    std::vector<double> some;
    for (int64_t k = 0; k < own.numel(); k += step)
      some.push_back(mean[static_cast<size_t>(c)] + deviation[static_cast<size_t>(c)] * z[k]);
    laws[static_cast<size_t>(c)].calibrate(std::move(some));
  }
}

std::string FieldTransform::text() const {
  std::string out = kind == "none" ? "as they are" : unit == 1 ? kind : fmt::format("{} of x / {}", kind, unit);
  if (scored())
    out = fmt::format("{} scores{}{}", scores, calibrated() ? ", set right by samples" : "",
                      gains.empty() ? "" : ", and so is the spectrum");
  if (threshold) out += fmt::format(", dry below {}", *threshold);
  if (quantum > 0) out += fmt::format(", spread over {}", quantum);
  if (depth > 0) out += fmt::format(", dry over {}", depth);
  if (reach > 0) out += fmt::format(", dry by the distance from the rain, up to {} points", reach);
  if (!plain.empty()) out += fmt::format(", channel {} as it is", fmt::join(plain, " and "));
  return out;
}

void to_json(nlohmann::json& j, const FieldTransform& t) {
  j = {{"kind", t.kind}, {"unit", t.unit}, {"quantum", t.quantum}, {"mean", t.mean}, {"deviation", t.deviation}};
  if (t.threshold) j["threshold"] = *t.threshold;
  if (t.depth > 0) j["depth"] = t.depth;
  if (t.reach > 0) j["reach"] = t.reach;
  if (!t.plain.empty()) j["plain"] = t.plain;
  if (!t.scored()) return;
  j["scores"] = t.scores, j["laws"] = nlohmann::json::array();
  for (const FieldLaw& law : t.laws)
    j["laws"].push_back(law.values().empty() ? nlohmann::json() : nlohmann::json(law.numbers()));
  for (const SpectrumGain& gain : t.gains)
    j["gains"].push_back(gain.there() ? nlohmann::json(gain.numbers()) : nlohmann::json());
}

void from_json(const nlohmann::json& j, FieldTransform& t) {
  t.kind = j.at("kind"), t.unit = j.at("unit"), t.quantum = j.at("quantum");
  t.mean = j.at("mean").get<std::vector<double>>(), t.deviation = j.at("deviation").get<std::vector<double>>();
  if (j.contains("threshold")) t.threshold = j.at("threshold").get<double>();
  t.depth = j.value("depth", 0.0);
  t.reach = j.value("reach", 0.0);
  t.plain.clear();
  if (j.contains("plain"))
    for (const nlohmann::json& channel : j.at("plain")) t.plain.push_back(json_whole(channel));
  t.scores = j.value("scores", std::string("normal"));
  t.check();
  if (t.mean.empty() || t.mean.size() != t.deviation.size())
    throw InputError("[fields] expected a mean and a deviation for each channel, got {} and {}", t.mean.size(),
                     t.deviation.size());
  for (const double d : t.deviation)
    if (!(d > 0)) throw InputError("[fields] expected positive deviations, got {}", d);
  if (!t.scored()) return;
  t.laws.clear();
  for (const nlohmann::json& law : j.at("laws")) {
    const bool plain = t.is_plain(static_cast<int64_t>(t.laws.size()));
    t.laws.push_back(plain ? FieldLaw()
                           : FieldLaw::from_numbers(law.get<std::vector<std::vector<double>>>(), t.scores));
  }
  if (t.laws.size() != t.mean.size())
    throw InputError("[fields] expected the laws of {} channels of scores, got {}", t.mean.size(), t.laws.size());
  t.gains.clear();
  if (!j.contains("gains")) return;
  for (const nlohmann::json& gain : j.at("gains"))
    t.gains.push_back(gain.is_null() ? SpectrumGain()
                                     : SpectrumGain::from_numbers(gain.get<std::vector<std::vector<double>>>()));
  if (t.gains.size() != t.mean.size())
    throw InputError("[fields] expected gains for {} channels, got {}", t.mean.size(), t.gains.size());
}

}  // namespace htfm
