// A gain for each wave number of a field: it makes fields rougher or smoother, and leaves their mean as it is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "htfm/base/api.h"

namespace htfm {
class CosineWaves;
}

namespace htfm HTFM_PUBLIC {

class HTFM_PUBLIC SpectrumGain {
 public:
  SpectrumGain() = default;  ///< leaves every field as it is
  /// For fields of height x width: gains at ascending wave numbers, in waves across the shorter side, linear in their
  /// logarithms between and constant beyond. InputError for numbers that are none.
  SpectrumGain(int64_t height, int64_t width, std::vector<double> waves, std::vector<double> gains);

  bool there() const { return !waves_.empty(); }
  /// The gain of waves other than the mean.
  double at(double waves) const;
  const std::vector<double>& gains() const { return gains_; }

  /// Multiplies the waves of a field, in place; beyond its edges a field goes on as its mirror image. A field that is
  /// constant, or not finite, stays as it is.
  void apply(std::span<double> field) const;
  /// Whether apply() leaves a field as it is.
  static bool stays(std::span<const double> field);
  /// The gain of each entry of the field's cosine transform (CosineWaves).
  const std::vector<double>& of_entries() const { return of_entries_; }

  /// As numbers of a checkpoint, and back; InputError for other numbers.
  std::vector<std::vector<double>> numbers() const;
  static SpectrumGain from_numbers(const std::vector<std::vector<double>>& numbers);

 private:
  int64_t height_ = 0, width_ = 0;
  std::vector<double> waves_, gains_, of_entries_;
  std::shared_ptr<const CosineWaves> transform_;
};

}  // namespace htfm
