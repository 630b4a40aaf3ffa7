// Fields as a network sees them, and back: dry values, an optional logarithm or scores, and mean and deviation of each
// channel.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"
#include "htfm/field/dry_distance.h"
#include "htfm/field/field_law.h"
#include "htfm/field/spectrum_gain.h"

namespace htfm HTFM_PUBLIC {

/// The logarithm of a transform, or none: a function of one number.
using BendFunction = double (*)(double);

struct FieldTransform {
  std::string kind = "none";             ///< none, log1p or asinh, of x / unit; scores: by the law of each channel
  double unit = 1;                       ///< in the field's own unit
  std::optional<double> threshold = {};  ///< values below it are dry: they come out as 0
  double quantum = 0;  ///< values are multiples of it and are spread over it, dry ones over [threshold - depth,
                       ///< threshold); 0: as they are
  double depth = 0;    ///< 0: the threshold itself
  double reach = 0;    ///< dry points have hidden values by their distance from the rain, up to so many points: edge -
                       ///< depth distance / reach, where the edge is the threshold, and 0 of scores; scores without a
                       ///< depth have the law of the distance; 0: they are drawn
  std::string scores = "normal";                  ///< the law of scores (ScoreLaw)
  std::vector<int64_t> plain = {};                ///< channels that take neither logarithm nor threshold nor quantum
  std::vector<double> mean = {}, deviation = {};  ///< of each channel after the logarithm, over the training part
  std::vector<FieldLaw> laws = {};                ///< scores: of each channel, over the training part
  std::vector<SpectrumGain> gains = {};  ///< scores: of each channel, applied to a model's rows before they become
                                         ///< values (fit_spectrum); empty: none

  /// InputError where the settings make no sense.
  void check() const;
  int64_t channels() const { return static_cast<int64_t>(mean.size()); }
  /// The logarithm alone, of x / unit.
  BendFunction bend() const;
  /// Whether values are scores.
  bool scored() const { return kind == "scores"; }
  bool is_plain(int64_t channel) const { return std::find(plain.begin(), plain.end(), channel) != plain.end(); }
  /// Whether a value is dry, and comes out as 0.
  bool is_dry(double x) const { return threshold && x < *threshold; }
  /// Mean of a power (1 or 2) of what a dry value becomes, before mean and deviation.
  double dry_moment(int power) const;

  /// Physical values n x c x h x w (float32) into rows n x (c h w); what is spread is a function of key and place,
  /// `first` that of the first field. `distance`: of the points from the rain (dry_distance), where the transform has a
  /// reach; where not given, from the rain in the fields themselves.
  at::Tensor apply(const at::Tensor& fields, Key key, int64_t first = 0, const at::Tensor& distance = {}) const;
  /// Rows n x (c h w) of any float type back into physical values of the same type. Rows that are not finite stay so.
  at::Tensor invert(const at::Tensor& rows) const;

  /// Sets the law of every channel of scores right for a model: from here on invert() gives the data's law to rows like
  /// these, n x (c h w) as the model draws them. Needs 1000 finite values a channel.
  void calibrate(const at::Tensor& rows);
  bool calibrated() const { return !laws.empty() && laws.front().calibrated(); }

  std::string text() const;  ///< in words

 private:
  at::Tensor with_gains(const at::Tensor& rows) const;  ///< float64 where there are gains, otherwise the rows
  double dry(double u) const;                      ///< what a dry value becomes, in the field's own unit; u uniform
  double hidden(double distance, double u) const;  ///< the same by its distance from the rain
};

/// The settings with mean and deviation of each channel over the fields (n x c x h x w float32) that are not held out
/// (n of uint8). InputError, which names `where` and the channel, where they cannot be had. `channels` may be empty;
/// `outside`: the rain beyond the edges of the fields, where it is known.
FieldTransform fit_field_transform(const FieldTransform& settings, const at::Tensor& fields, const at::Tensor& held_out,
                                   const std::vector<std::string>& channels = {}, const std::string& where = "fields",
                                   const WetOutside& outside = {});

}  // namespace htfm
