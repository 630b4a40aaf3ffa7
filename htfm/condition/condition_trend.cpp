#include "htfm/condition/condition_trend.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "htfm/base/error.h"

namespace htfm {

namespace {

constexpr int64_t kRowsOfKnot = 500, kMostKnots = 12;

double median_of(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<int64_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace

ConditionTrend ConditionTrend::fit(std::vector<double> x, const ConditionTable& given, std::optional<double> bound) {
  ConditionTrend out;
  const auto n = static_cast<int64_t>(x.size());
  const int64_t width = static_cast<int64_t>(given.columns.size()), knots = std::min(kMostKnots, n / kRowsOfKnot);
  if (knots < 2) return out;
  const double* v = given.values.const_data_ptr<double>();
  for (int64_t column = 0; column < width; ++column) {
    if (given.columns[static_cast<size_t>(column)].is_category()) continue;
    const auto c = [&](int64_t i) { return v[i * width + column]; };
    std::vector<int64_t> order(x.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return c(a) < c(b) || (c(a) == c(b) && a < b); });
    Stage stage{
        .column = column, .middle = bound.value_or(median_of(x)), .least = c(order.front()), .most = c(order.back())};
    const auto in_part = [&](int64_t k, const auto& value) {
      std::vector<double> part;
      for (int64_t i = k * n / knots; i < (k + 1) * n / knots; ++i) part.push_back(value(order[i]));
      return median_of(std::move(part));
    };
    std::vector<int64_t> parts;  // equal numbers share a knot
    for (int64_t k = 0; k < knots; ++k) {
      const double place = in_part(k, c);
      if (!stage.knot.empty() && !(place > stage.knot.back())) continue;
      parts.push_back(k), stage.knot.push_back(place);
    }
    if (parts.size() < 2) continue;
    // A little beyond the outermost knots the trend goes on; where numbers lie far apart it does not.
    const size_t last = stage.knot.size() - 1;
    stage.least = std::max(stage.least, 1.5 * stage.knot[0] - 0.5 * stage.knot[1]);
    stage.most = std::min(stage.most, 1.5 * stage.knot[last] - 0.5 * stage.knot[last - 1]);
    for (const int64_t k : parts) stage.centre.push_back(bound ? *bound : in_part(k, [&](int64_t i) { return x[i]; }));
    stage.log_scale.assign(parts.size(), 0.0);
    const auto spread = [&](int64_t i) { return std::abs(x[i] - at(stage, v + i * width).centre); };
    std::vector<double> log_scale;
    for (const int64_t k : parts) log_scale.push_back(std::log(in_part(k, spread)));
    const double typical = median_of(log_scale);
    for (double& l : log_scale) l -= typical;
    // Half of the values at one point have no scale: whoever models the column must learn it.
    if (std::any_of(log_scale.begin(), log_scale.end(), [](double l) { return !std::isfinite(l); })) continue;
    stage.log_scale = std::move(log_scale);
    for (int64_t i = 0; i < n; ++i) x[i] = remove(stage, x[i], v + i * width);
    out.stages_.push_back(std::move(stage));
  }
  return out;
}

ConditionTrend::At ConditionTrend::at(const Stage& s, const double* given) {
  const double c = std::clamp(given[s.column], s.least, s.most);
  const auto above = std::upper_bound(s.knot.begin() + 1, s.knot.end() - 1, c);
  const auto k = static_cast<size_t>(above - s.knot.begin());
  const double share = (c - s.knot[k - 1]) / (s.knot[k] - s.knot[k - 1]);
  return {std::lerp(s.centre[k - 1], s.centre[k], share), std::lerp(s.log_scale[k - 1], s.log_scale[k], share)};
}

double ConditionTrend::remove(const Stage& s, double x, const double* given) {
  const At here = at(s, given);
  return s.middle + (x - here.centre) * std::exp(-here.log_scale);
}

double ConditionTrend::remove(double x, const double* given) const {
  for (const Stage& s : stages_) x = remove(s, x, given);
  return x;
}

double ConditionTrend::restore(double x, const double* given) const {
  for (auto s = stages_.rbegin(); s != stages_.rend(); ++s) {
    const At here = at(*s, given);
    x = here.centre + (x - s->middle) * std::exp(here.log_scale);
  }
  return x;
}

int64_t ConditionTrend::width() const {
  int64_t out = 0;
  for (const Stage& s : stages_) out = std::max(out, s.column + 1);
  return out;
}

std::vector<double> ConditionTrend::numbers() const {
  std::vector<double> out;
  for (const Stage& s : stages_) {
    for (const double v :
         {static_cast<double>(s.column), s.middle, s.least, s.most, static_cast<double>(s.knot.size())})
      out.push_back(v);
    for (const std::vector<double>* list : {&s.knot, &s.centre, &s.log_scale})
      out.insert(out.end(), list->begin(), list->end());
  }
  return out;
}

ConditionTrend ConditionTrend::from_numbers(std::span<const double> v) {
  constexpr size_t kHead = 5;
  constexpr double kMost = 1e6;  // of a column's number, and of knots
  ConditionTrend out;
  for (size_t at = 0; at < v.size();) {
    const size_t knots =
        v.size() >= at + kHead && v[at + 4] >= 2 && v[at + 4] <= kMost ? static_cast<size_t>(v[at + 4]) : 0;
    if (knots == 0 || v.size() < at + kHead + 3 * knots || !(v[at] >= 0 && v[at] <= kMost) || !(v[at + 2] <= v[at + 3]))
      throw InputError(
          "[condition] expected a column, its middle and range, and at least two knots of a trend, got {} numbers that "
          "begin with {}",
          v.size() - at, fmt::join(v.subspan(at, std::min(v.size() - at, kHead)), ", "));
    Stage s{.column = static_cast<int64_t>(v[at]), .middle = v[at + 1], .least = v[at + 2], .most = v[at + 3]};
    const auto list = [&](size_t k) {
      const auto first = v.begin() + static_cast<int64_t>(at + kHead + k * knots);
      return std::vector<double>(first, first + static_cast<int64_t>(knots));
    };
    s.knot = list(0), s.centre = list(1), s.log_scale = list(2);
    out.stages_.push_back(std::move(s));
    at += kHead + 3 * knots;
  }
  return out;
}

}  // namespace htfm
