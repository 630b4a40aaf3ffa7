#include "htfm/clock/feature.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/clock/feature_kernels.h"
#include "htfm/signature/clock_feature.h"
#include "htfm/signature/standardise.h"

namespace htfm {

namespace {

double signed_log1p(double x) { return std::copysign(std::log1p(std::abs(x)), x); }

// Coordinates of a raw signature whose word contains a letter other than time (letter 0).
std::vector<int64_t> words_with_clock(int width, int depth) {
  std::vector<int64_t> out;
  int64_t at = 0, level = 1;
  for (int k = 1; k <= depth; ++k) {
    level *= width;
    for (int64_t w = 1; w < level; ++w) out.push_back(at + w);  // word 0 of a level is time alone
    at += level;
  }
  return out;
}

// From draws on a grid of one step, on which the law of the area is exact.
double area_quantile(const Clock& clock, double level) {
  constexpr int64_t draws = 1 << 18;
  ClockSpec spec = clock.spec();
  spec.grid = 1;
  at::Tensor area = make_clock(spec)->sample(Key(0).child("area"), {.count = draws, .paths = false}).area;
  double* a = area.mutable_data_ptr<double>();
  const auto k = static_cast<int64_t>(level * static_cast<double>(draws));
  std::nth_element(a, a + k, a + draws);
  return a[k];
}

}  // namespace

PathFeature::PathFeature(const Clock& clock, const FeatureSpec& spec)
    : order_(spec.order), end_(spec.end), area_(spec.area), squash_(spec.squash) {
  if (spec.kind == "auto") {
    const NaturalFeature natural = clock.natural_feature();
    kind_ = natural == NaturalFeature::none        ? Kind::none
            : natural == NaturalFeature::log_slope ? Kind::log_slope
                                                   : Kind::logsignature;
  } else if (spec.kind == "none") {
    kind_ = Kind::none;
  } else if (spec.kind == "log_slope") {
    kind_ = Kind::log_slope;
  } else if (spec.kind == "logsignature") {
    kind_ = Kind::logsignature;
  } else if (spec.kind == "signature") {
    kind_ = Kind::signature;
  } else {
    throw InputError("[feature.kind] expected auto, none, log_slope, logsignature or signature; got '{}'", spec.kind);
  }
  if (order_ < 0 || order_ > kMaxDepth)
    throw InputError("[feature.order] expected an order from 0 to {}, got {}", kMaxDepth, order_);
  if (order_ == 0) kind_ = Kind::none;
  if (spec.transform == "log1p")
    transform_ = Transform::log1p;
  else if (spec.transform == "raw")
    transform_ = Transform::raw;
  else if (spec.transform == "per-path")
    transform_ = Transform::per_path;
  else
    throw InputError("[feature.transform] expected log1p, raw or per-path; got '{}'", spec.transform);
  if (spec.standardise != "running" && spec.standardise != "none")
    throw InputError("[feature.standardise] expected running or none; got '{}'", spec.standardise);
  running_ = spec.standardise == "running";
  basis_ = log_basis_by_name(spec.basis);
  path_.convention = convention_by_name(spec.convention);

  if (kind_ == Kind::none) {
    // Without a clock feature the joined summaries would be one: they are left out as well.
    end_ = area_ = false;
    description_ = "none";
    return;
  }
  if (kind_ == Kind::log_slope) {
    path_size_ = 1;
    area_ = false;  // the slope tells the area
    description_ = "log T_1";
  } else {
    path_.augment_time =
        transform_ != Transform::per_path;  // per-path standardises time as well, so it comes augmented
    path_.time_first = transform_ == Transform::per_path;
    const int width = convention_moves(path_.convention, 2, true).width;  // time and clock
    if (kind_ == Kind::logsignature) {
      path_size_ = logsignature_size(width, order_);
      clock_coordinates_ = clock_coordinates(order_, path_.convention);
    } else {
      path_size_ = signature_size(width, order_);
      clock_coordinates_ = words_with_clock(width, order_);
    }
    needs_paths_ = order_ > 1 || path_.convention != Convention::linear || transform_ == Transform::per_path;
    description_ =
        fmt::format("{} of order {}{}, {}{}", spec.kind == "signature" ? "signature" : "logsignature", order_,
                    kind_ == Kind::logsignature && order_ > 1 ? " in " + spec.basis : "", spec.transform,
                    path_.convention == Convention::linear ? "" : ", " + spec.convention + " path");
  }
  size_ = path_size_ + (end_ ? 1 : 0) + (area_ ? 1 : 0);
  if (end_) description_ += ", with T_1";
  if (area_) description_ += ", with the area";
  if (!running_) description_ += ", not standardised";
  if (squash_) description_ += ", squashed";
  if (spec.saturate && std::isfinite(clock.tail_exponent())) {
    largest_area_ = area_quantile(clock, kSaturation);
    description_ += ", saturated";
  }
}

// T becomes T times a factor, and so do its end and area.
ClockSample PathFeature::shown(const ClockSample& clocks) const {
  const int64_t n = clocks.area.size(0);
  const double* area = clocks.area.const_data_ptr<double>();
  if (std::none_of(area, area + n, [&](double a) { return a > largest_area_; })) return clocks;
  ClockSample out{clocks.area.clone(), clocks.end.clone(),
                  clocks.paths.defined() ? clocks.paths.clone() : at::Tensor()};
  for (int64_t i = 0; i < n; ++i) {
    if (!(area[i] > largest_area_)) continue;
    const double factor = largest_area_ / area[i];
    out.area.mutable_data_ptr<double>()[i] = largest_area_;
    out.end.mutable_data_ptr<double>()[i] *= factor;
    if (!out.paths.defined()) continue;
    double* path = out.paths.mutable_data_ptr<double>() + i * out.paths.size(1);
    for (int64_t k = 0; k < out.paths.size(1); ++k) path[k] *= factor;
  }
  return out;
}

at::Tensor PathFeature::path_coordinates(const ClockSample& clocks) const {
  const int64_t n = clocks.end.size(0);
  if (kind_ == Kind::log_slope || !needs_paths_) {
    // Level 1 of a linear path is its increment (1, T_1): no path is walked.
    at::Tensor out = at::empty({n, path_size_}, at::kDouble);
    double* to = out.mutable_data_ptr<double>();
    const double* end = clocks.end.const_data_ptr<double>();
    for (int64_t i = 0; i < n; ++i) {
      if (kind_ == Kind::log_slope) {
        to[i] = std::log(end[i]);
      } else {
        to[2 * i] = 1;
        to[2 * i + 1] = end[i];
      }
    }
    return out;
  }
  if (!clocks.paths.defined()) throw Error("[feature] expected clocks with their paths");
  const at::Tensor paths =
      transform_ == Transform::per_path ? standardise_along_time(augment_time(clocks.paths)) : clocks.paths;
  return kind_ == Kind::logsignature ? logsignature(paths, order_, basis_, path_) : signature(paths, order_, path_);
}

at::Tensor PathFeature::operator()(const ClockSample& drawn) const {
  const ClockSample clocks = shown(drawn);
  const int64_t n = clocks.end.size(0);
  at::Tensor out = at::empty({n, size_}, at::kDouble);
  if (size_ == 0) return out;
  const at::Tensor path = path_coordinates(clocks);
  const double* from = path.const_data_ptr<double>();
  const double* end = clocks.end.const_data_ptr<double>();
  const double* area = clocks.area.const_data_ptr<double>();
  double* to = out.mutable_data_ptr<double>();
  const auto shrink = [this](double x) { return transform_ == Transform::log1p ? signed_log1p(x) : x; };
  for (int64_t i = 0; i < n; ++i) {
    double* row = to + i * size_;
    std::copy(from + i * path_size_, from + (i + 1) * path_size_, row);
    if (kind_ != Kind::log_slope && transform_ == Transform::log1p)
      for (const int64_t c : clock_coordinates_) row[c] = signed_log1p(row[c]);
    int64_t next = path_size_;
    if (end_) row[next++] = shrink(end[i]);
    if (area_) row[next++] = transform_ == Transform::log1p ? std::log(area[i]) : area[i];
  }
  return out;
}

at::Tensor PathFeature::standardised(const at::Tensor& raw, const RunningStandardiser& standardiser) const {
  at::Tensor out = running_ ? standardiser.apply(raw) : raw.to(at::kFloat);
  if (squash_) kernels<FeatureKernels>().squash(out.numel(), out.mutable_data_ptr<float>());
  return out;
}

}  // namespace htfm
