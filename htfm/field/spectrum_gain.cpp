#include "htfm/field/spectrum_gain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "htfm/base/error.h"
#include "htfm/field/cosine_waves.h"

namespace htfm {

SpectrumGain::SpectrumGain(int64_t height, int64_t width, std::vector<double> waves, std::vector<double> gains)
    : height_(height), width_(width), waves_(std::move(waves)), gains_(std::move(gains)) {
  if (waves_.empty() || waves_.size() != gains_.size())
    throw InputError("[spectrum] expected a gain for each wave number, got {} for {}", gains_.size(), waves_.size());
  for (size_t k = 0; k < waves_.size(); ++k)
    if (!(waves_[k] > (k > 0 ? waves_[k - 1] : 0)) || !(gains_[k] > 0) || !std::isfinite(waves_[k] + gains_[k]))
      throw InputError("[spectrum] expected ascending wave numbers and positive gains, got {} and {}", waves_[k],
                       gains_[k]);
  transform_ = std::make_shared<const CosineWaves>(height, width);
  of_entries_.assign(transform_->points(), 1.0);
  for (size_t k = 1; k < of_entries_.size(); ++k) of_entries_[k] = at(transform_->wave_number(k));
}

double SpectrumGain::at(double waves) const {
  const auto next = std::upper_bound(waves_.begin(), waves_.end(), waves);
  if (next == waves_.begin()) return gains_.front();
  if (next == waves_.end()) return gains_.back();
  const auto k = static_cast<size_t>(next - waves_.begin());
  const double share = (waves - waves_[k - 1]) / (waves_[k] - waves_[k - 1]);
  return std::exp(std::lerp(std::log(gains_[k - 1]), std::log(gains_[k]), share));
}

bool SpectrumGain::stays(std::span<const double> field) {
  return std::ranges::all_of(field, [&](double v) { return v == field[0]; }) ||
         !std::ranges::all_of(field, [](double v) { return std::isfinite(v); });
}

void SpectrumGain::apply(std::span<double> field) const {
  if (!there()) return;
  if (field.size() != transform_->points())
    throw InputError("[spectrum] expected fields of {} x {}, got {} values", height_, width_, field.size());
  if (stays(field)) return;
  transform_->forward(field);
  for (size_t k = 0; k < field.size(); ++k) field[k] *= of_entries_[k];
  transform_->backward(field);
}

std::vector<std::vector<double>> SpectrumGain::numbers() const {
  return {{static_cast<double>(height_), static_cast<double>(width_)}, waves_, gains_};
}

SpectrumGain SpectrumGain::from_numbers(const std::vector<std::vector<double>>& v) {
  const auto is_side = [](double x) { return x >= 1 && x <= 1e6 && x == std::floor(x); };
  if (v.size() != 3 || v[0].size() != 2 || !is_side(v[0][0]) || !is_side(v[0][1]))
    throw InputError("[spectrum] expected the sides of a field, wave numbers and gains, got {} parts", v.size());
  return {static_cast<int64_t>(v[0][0]), static_cast<int64_t>(v[0][1]), v[1], v[2]};
}

}  // namespace htfm
