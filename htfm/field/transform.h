// Fields as a network sees them, and back: dry values, an optional logarithm, and mean and deviation of each channel.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"

namespace htfm HTFM_PUBLIC {

/// The logarithm of a transform, or none: a function of one number.
using BendFunction = double (*)(double);

struct FieldTransform {
  std::string kind = "none";             ///< none, log1p or asinh, of x / unit
  double unit = 1;                       ///< in the field's own unit
  std::optional<double> threshold = {};  ///< values below it are dry: they come out as 0
  double quantum = 0;  ///< values are multiples of it and are spread over it, dry ones over [threshold - depth,
                       ///< threshold); 0: as they are
  double depth = 0;    ///< 0: the threshold itself
  std::vector<int64_t> plain = {};                ///< channels that take neither logarithm nor threshold nor quantum
  std::vector<double> mean = {}, deviation = {};  ///< of each channel after the logarithm, over the training part

  /// InputError where the settings make no sense.
  void check() const;
  int64_t channels() const { return static_cast<int64_t>(mean.size()); }
  /// The logarithm alone, of x / unit.
  BendFunction bend() const;
  bool is_plain(int64_t channel) const { return std::find(plain.begin(), plain.end(), channel) != plain.end(); }
  /// Whether a value is dry, and comes out as 0.
  bool is_dry(double x) const { return threshold && x < *threshold; }
  /// Mean of a power (1 or 2) of what a dry value becomes, before mean and deviation.
  double dry_moment(int power) const;

  /// Physical values n x c x h x w (float32) into rows n x (c h w); what is spread is a function of key and place,
  /// `first` that of the first field.
  at::Tensor apply(const at::Tensor& fields, Key key, int64_t first = 0) const;
  /// Rows n x (c h w) of any float type back into physical values of the same type. Rows that are not finite stay so.
  at::Tensor invert(const at::Tensor& rows) const;

  std::string text() const;  ///< in words

 private:
  double dry(double u) const;  ///< what a dry value becomes, in the field's own unit; u uniform
};

/// The settings with mean and deviation of each channel over the fields (n x c x h x w float32) that are not held out
/// (n of uint8). InputError, which names `where` and the channel, where they cannot be had. `channels` may be empty.
FieldTransform fit_field_transform(const FieldTransform& settings, const at::Tensor& fields, const at::Tensor& held_out,
                                   const std::vector<std::string>& channels = {}, const std::string& where = "fields");

}  // namespace htfm
