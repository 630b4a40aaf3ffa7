// How the power of a model's fields is shared among wave numbers, set right by its own samples: a network that was
// trained too short, or is too small, makes fields too smooth in some sizes and too rough in others.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "htfm/field/field_set.h"
#include "htfm/field/transform.h"

namespace htfm {

/// Root mean square over wave numbers and channels of log(power of the samples / power of the data), without the mean
/// of each channel: how much power there is at all wave numbers together is left to the law of the values.
struct SpectrumFit {
  double before = 0, after = 0;
};

/// Mean power of the roots of the values, with their sign, of the fields that a prepared set has to train on: at wave
/// numbers 1, 2, ... of each channel (radial_spectrum). The power of the values themselves is that of a few storms.
std::vector<std::vector<double>> training_spectra(const FieldSet& set);

/// InputError for fields that are too small or too large for it.
void check_spectrum_sides(int64_t height, int64_t width);

/// Finds gains of the scores (FieldTransform::gains), and laws that go with them, for which rows like these, n x
/// (c height width) as a model draws them, become fields with spectra of such a shape. The power of the scores at all
/// wave numbers together stays as it is, and so do plain channels.
SpectrumFit fit_spectrum(FieldTransform& transform, const at::Tensor& drawn, int64_t height, int64_t width,
                         const std::vector<std::vector<double>>& spectra);

}  // namespace htfm
