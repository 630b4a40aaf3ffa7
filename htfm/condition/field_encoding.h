// A field that is given, as a network is told it: further channels of its image.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"

namespace htfm HTFM_PUBLIC {

/// Every channel is told twice: its standardised values, which resolve large ones, and the asinh of them over their
/// typical size, which resolves small ones. Where many values are the least one, as in rain, the asinh is that of the
/// distance from it over a small one, so that hardly any rain and none are told apart.
class FieldEncoding {
 public:
  FieldEncoding() = default;  ///< no field
  /// Of the fields of a training set, n x (c h w). InputError where a value is not finite.
  static FieldEncoding fit(const ConditionField& field, const at::Tensor& values);

  bool there() const { return field_.there(); }
  const ConditionField& field() const { return field_; }
  ConditionField told() const { return {2 * field_.channels, field_.height, field_.width}; }

  /// n x (c h w) float64 as n x told().size() float32, channel by channel.
  at::Tensor encode(const at::Tensor& values) const;
  /// What of these fields (NaN: not given) lies far outside of what was seen, a sentence each.
  std::vector<std::string> warnings(const at::Tensor& values) const;
  /// "a field of 16 x 16 (values from 0 to 31.2)".
  std::string describe() const;

  /// As numbers of a checkpoint, and back: InputError where they are no field's.
  std::vector<double> numbers() const;
  static FieldEncoding from_numbers(std::span<const double> numbers);

 private:
  struct Channel {
    double mean = 0, deviation = 1;                      // of the values
    double unit = 1, bent_mean = 0, bent_deviation = 1;  // of asinh((value - centre) / unit)
    double least = 0, most = 0;                          // that were seen
    double centre = 0;
  };
  static constexpr size_t kNumbers = 8, kNumbersOnce = 7;  // of a channel; once the centre was the mean
  ConditionField field_;
  std::vector<Channel> channels_;
};

}  // namespace htfm
