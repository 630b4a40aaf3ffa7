#include "htfm/condition/field_encoding.h"

#include <ATen/ops/empty.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"

namespace htfm {

namespace {

struct Moments {
  double mean = 0, deviation = 1;
};

template <class Value>
Moments moments_of(int64_t n, const Value& value) {
  double sum = 0, square = 0;
  for (int64_t i = 0; i < n; ++i) sum += value(i);
  const double mean = sum / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) square += (value(i) - mean) * (value(i) - mean);
  const double deviation = std::sqrt(square / static_cast<double>(n));
  return {mean, deviation > 0 ? deviation : 1};
}

constexpr double kManyAlike = 0.25;  // share of values that are the least one: rain, most of which is 0
constexpr double kSmallest = 0.05;   // share of the others that lie below the unit

// Where values are bent, and in which unit: small values are to be told apart there.
struct Bending {
  double centre = 0, unit = 1;
};

template <class Value>
Bending bending_of(int64_t n, const Value& value, double least, double mean) {
  std::vector<double> above;
  for (int64_t i = 0; i < n; ++i)
    if (value(i) > least) above.push_back(value(i) - least);
  const auto alike = static_cast<double>(n - static_cast<int64_t>(above.size()));
  if (!above.empty() && alike >= kManyAlike * static_cast<double>(n)) {
    const auto place = above.begin() + static_cast<int64_t>(kSmallest * static_cast<double>(above.size()));
    std::nth_element(above.begin(), place, above.end());
    return {least, *place};
  }
  // The typical distance from the mean, which few large values do not move as they move the deviation.
  const double distance = moments_of(n, [&](int64_t i) { return std::abs(value(i) - mean); }).mean;
  return {mean, distance > 0 ? distance / 2 : 1};
}

}  // namespace

FieldEncoding FieldEncoding::fit(const ConditionField& field, const at::Tensor& values) {
  FieldEncoding out;
  out.field_ = field;
  const int64_t points = field.height * field.width, n = values.size(0) * points;
  const double* v = values.const_data_ptr<double>();
  for (int64_t c = 0; c < field.channels; ++c) {
    const auto value = [&](int64_t i) { return v[(i / points * field.channels + c) * points + i % points]; };
    Channel own;
    own.least = own.most = value(0);
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(value(i)))
        throw InputError("[condition.field] field {}: expected finite values, got {}", i / points + 1, value(i));
      own.least = std::min(own.least, value(i)), own.most = std::max(own.most, value(i));
    }
    const Moments plain = moments_of(n, value);
    own.mean = plain.mean, own.deviation = plain.deviation;
    const Bending bending = bending_of(n, value, own.least, own.mean);
    own.centre = bending.centre, own.unit = bending.unit;
    const Moments bent = moments_of(n, [&](int64_t i) { return std::asinh((value(i) - own.centre) / own.unit); });
    own.bent_mean = bent.mean, own.bent_deviation = bent.deviation;
    out.channels_.push_back(own);
  }
  return out;
}

at::Tensor FieldEncoding::encode(const at::Tensor& values) const {
  const int64_t n = values.size(0), points = field_.height * field_.width;
  at::Tensor out = at::empty({n, told().size()}, at::kFloat);
  const double* v = values.const_data_ptr<double>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n; ++i)
    for (const Channel& c : channels_) {
      for (int64_t k = 0; k < points; ++k) {
        if (!std::isfinite(v[k])) throw Error("[condition] field {}: expected finite values, got {}", i + 1, v[k]);
        to[k] = static_cast<float>((v[k] - c.mean) / c.deviation);
        const double bent = std::asinh((v[k] - c.centre) / c.unit);
        to[points + k] = static_cast<float>((bent - c.bent_mean) / c.bent_deviation);
      }
      v += points, to += 2 * points;
    }
  return out;
}

std::vector<std::string> FieldEncoding::warnings(const at::Tensor& values) const {
  const int64_t n = values.size(0), points = field_.height * field_.width;
  const double* v = values.const_data_ptr<double>();
  std::vector<std::string> out;
  for (int64_t c = 0; c < field_.channels; ++c) {
    const Channel& own = channels_[static_cast<size_t>(c)];
    const double beyond = (own.most - own.least) / 10;
    int64_t far = 0;
    double example = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double* field = v + (i * field_.channels + c) * points;
      const double* found = std::find_if(field, field + points,
                                         [&](double x) { return x < own.least - beyond || x > own.most + beyond; });
      if (found != field + points) example = *found, ++far;
    }
    if (far > 0)
      out.push_back(fmt::format("{} of {} fields: {:.6g} is far from what was seen in training, {:.6g} to {:.6g}", far,
                                n, example, own.least, own.most));
  }
  return out;
}

std::string FieldEncoding::describe() const {
  std::string ranges;
  for (const Channel& c : channels_)
    ranges += fmt::format("{}{:.6g} to {:.6g}", ranges.empty() ? "" : ", ", c.least, c.most);
  return fmt::format("a field of {} x {} (values from {})", field_.height, field_.width, ranges);
}

std::vector<double> FieldEncoding::numbers() const {
  std::vector<double> out{static_cast<double>(field_.channels), static_cast<double>(field_.height),
                          static_cast<double>(field_.width)};
  for (const Channel& c : channels_)
    out.insert(out.end(), {c.mean, c.deviation, c.unit, c.bent_mean, c.bent_deviation, c.least, c.most, c.centre});
  return out;
}

FieldEncoding FieldEncoding::from_numbers(std::span<const double> v) {
  constexpr double kMost = 1 << 20, kMostValues = 1 << 30;  // of a size, and of a field
  const bool sizes = v.size() >= 3 && std::all_of(v.begin(), v.begin() + 3,
                                                  [](double x) { return x >= 1 && x <= kMost && x == std::floor(x); });
  const auto has = [&](size_t numbers) {
    return static_cast<double>(v.size()) == 3 + v[0] * static_cast<double>(numbers);
  };
  if (!sizes || v[0] * v[1] * v[2] > kMostValues || !(has(kNumbers) || has(kNumbersOnce)) ||
      !std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); }))
    throw InputError(
        "[condition] expected channels, height and width of a field, then {} finite numbers for each channel, got {} "
        "numbers that begin with {}",
        kNumbers, v.size(), fmt::join(v.first(std::min<size_t>(v.size(), 3)), ", "));
  FieldEncoding out;
  out.field_ = {static_cast<int64_t>(v[0]), static_cast<int64_t>(v[1]), static_cast<int64_t>(v[2])};
  const size_t numbers = has(kNumbers) ? kNumbers : kNumbersOnce;
  for (size_t at = 3; at < v.size(); at += numbers) {
    Channel c{v[at], v[at + 1], v[at + 2], v[at + 3], v[at + 4], v[at + 5], v[at + 6]};
    c.centre = numbers == kNumbers ? v[at + 7] : c.mean;
    if (!(c.deviation > 0 && c.unit > 0 && c.bent_deviation > 0))
      throw InputError("[condition] expected positive scales of a field, got {}, {} and {} for channel {}", c.deviation,
                       c.unit, c.bent_deviation, out.channels_.size() + 1);
    out.channels_.push_back(c);
  }
  return out;
}

}  // namespace htfm
