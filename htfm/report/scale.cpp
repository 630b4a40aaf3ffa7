#include "htfm/report/scale.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/report/style.h"
#include "htfm/report/text.h"

namespace htfm::report {
namespace {

constexpr double kLargest = 1e300;  // keeps every difference and power of ten finite
constexpr double kSmallest = 1e-300;

/// multiple * 10^exponent, correctly rounded for the exponents of ordinary ticks.
double decimal(double multiple, int exponent) {
  return exponent >= 0 ? multiple * std::pow(10.0, exponent) : multiple / std::pow(10.0, -exponent);
}

std::string linear_label(double value, double largest, int exponent) {
  if (value == 0) return "0";
  // Small steps far from zero have many digits; a power of ten would only make them longer.
  const int digits = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9)) - exponent + 1;
  if (exponent >= -5 && (largest < 1e6 || (digits > 5 && largest < 1e15))) return fixed(value, std::max(0, -exponent));
  return number(value, std::clamp(digits, 1, 15));
}

std::vector<Tick> linear_ticks(Range range, int target) {
  const double raw = (range.hi - range.lo) / target;
  int exponent = static_cast<int>(std::floor(std::log10(raw)));
  const double mantissa = raw / decimal(1, exponent);
  int multiple = mantissa <= 1 + 1e-9 ? 1 : mantissa <= 2 + 1e-9 ? 2 : mantissa <= 5 + 1e-9 ? 5 : 10;
  if (multiple == 10) multiple = 1, ++exponent;
  const double step = decimal(multiple, exponent);
  const double largest = std::max(std::abs(range.lo), std::abs(range.hi));
  const double first = std::ceil(range.lo / step - 1e-9), last = std::floor(range.hi / step + 1e-9);
  std::vector<Tick> ticks;
  for (int i = 0; i <= static_cast<int>(last - first); ++i) {
    const double value = decimal((first + i) * multiple, exponent) + 0.0;
    ticks.push_back({value, linear_label(value, largest, exponent)});
  }
  // One tick shows no scale.
  return ticks.size() < 2 ? linear_ticks(range, 2 * target) : ticks;
}

std::vector<Tick> log_ticks(Range range, int target) {
  const double low = std::log10(range.lo), high = std::log10(range.hi);
  const int first = static_cast<int>(std::ceil(low - 1e-9)), last = static_cast<int>(std::floor(high + 1e-9));
  const int decades = last - first + 1;
  const bool plain = low > -3.5 && high < 4.5;
  const auto label = [&](double value, int exponent) { return plain ? number(value) : power_of_ten(exponent); };
  std::vector<Tick> ticks;
  if (decades >= 2 && (high - low > 2 || target < 4)) {
    const int stride = (decades + target - 1) / target;
    for (int exponent = first - 1; exponent <= last; ++exponent) {
      const double decade = decimal(1, exponent);
      const bool major = exponent % stride == 0;
      if (exponent >= first && (major || stride <= 4)) ticks.push_back({decade, major ? label(decade, exponent) : ""});
      if (decades > 3) continue;
      for (int multiple = 2; multiple < 10; ++multiple) {
        const double value = decimal(multiple, exponent);
        if (value >= range.lo && value <= range.hi) ticks.push_back({value, ""});
      }
    }
    return ticks;
  }
  int labelled = 0;
  for (int exponent = first - 1; exponent <= last; ++exponent) {
    for (int multiple = 1; multiple < 10; ++multiple) {
      const double value = decimal(multiple, exponent);
      if (value < range.lo * (1 - 1e-9) || value > range.hi * (1 + 1e-9)) continue;
      const bool major = multiple == 1 || multiple == 5 || (multiple == 2 && target > 3);
      labelled += major;
      ticks.push_back({value, major ? number(value) : ""});
    }
  }
  return labelled >= 2 ? ticks : linear_ticks(range, target);
}

bool labels_collide(const Axis& axis, double length) {
  double end = -1e9;
  for (const Tick& tick : axis.ticks) {
    if (tick.label.empty()) continue;
    const double middle = axis.place(tick.value) * length, half = text_width(tick.label, kTickSize) / 2;
    if (middle - half < end + 7) return true;
    end = middle + half;
  }
  return false;
}

}  // namespace

bool drawable(double value, Scale scale) { return std::isfinite(value) && (scale == Scale::linear || value > 0); }

void Extent::add(double value, Scale scale) {
  if (!drawable(value, scale)) return;
  lo = std::min(lo, value);
  hi = std::max(hi, value);
}

void Extent::add(std::span<const double> values, Scale scale) {
  for (const double value : values) add(value, scale);
}

Range drawn_range(Extent extent, Scale scale, double padding) {
  if (scale == Scale::log) {
    if (!(extent.lo <= extent.hi)) return {0.1, 10};
    double lo = std::log10(std::clamp(extent.lo, kSmallest, kLargest)),
           hi = std::log10(std::clamp(extent.hi, kSmallest, kLargest));
    if (hi - lo < 1e-9) lo -= 0.4, hi += 0.4;
    const double pad = padding * (hi - lo);
    return {std::pow(10.0, std::max(lo - pad, -305.0)), std::pow(10.0, std::min(hi + pad, 305.0))};
  }
  if (!(extent.lo <= extent.hi)) return {0, 1};
  double lo = std::clamp(extent.lo, -kLargest, kLargest), hi = std::clamp(extent.hi, -kLargest, kLargest);
  const double size = std::max(std::abs(lo), std::abs(hi));
  if (hi - lo <= std::max(1e-10 * size, kSmallest)) {
    const double half = size > kSmallest ? 0.1 * size : 1;
    lo -= half, hi += half;
  }
  const double pad = padding * (hi - lo);
  return {lo - pad, hi + pad};
}

double quantile(std::vector<double>& values, double probability) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = std::clamp(probability, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), below, values.end());
  const double share = place - std::floor(place);
  if (share == 0) return *below;
  const double above = *std::min_element(below + 1, values.end());
  return *below * (1 - share) + above * share;
}

std::vector<Tick> nice_ticks(Scale scale, Range range, int target) {
  const double size = std::max(std::abs(range.lo), std::abs(range.hi));
  if (!drawable(range.lo, scale) || !drawable(range.hi, scale) || size > 1e6 * kLargest ||
      !(range.hi - range.lo > std::max(1e-11 * size, 1e-10 * kSmallest)))
    throw InputError("[report axis] expected a range with lo < hi{}, got {} to {}",
                     scale == Scale::log ? ", positive on a log scale" : "", range.lo, range.hi);
  target = std::max(target, 1);
  return scale == Scale::log ? log_ticks(range, target) : linear_ticks(range, target);
}

double Axis::place(double value) const {
  if (scale == Scale::log) return (std::log(value) - std::log(range.lo)) / (std::log(range.hi) - std::log(range.lo));
  return (value - range.lo) / (range.hi - range.lo);
}

Axis make_axis(const AxisOptions& options, Extent extent, double length, bool horizontal, double padding) {
  Axis axis{options.label, options.scale, {}, {}};
  axis.range = options.range ? *options.range : drawn_range(extent, options.scale, padding);
  int target = std::max(2, static_cast<int>(length / (horizontal ? 62 : 42)));
  do {
    axis.ticks = nice_ticks(axis.scale, axis.range, target);
  } while (horizontal && labels_collide(axis, length) && --target >= 2);
  return axis;
}

}  // namespace htfm::report
