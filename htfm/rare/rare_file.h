// Samples of an event as a file, with their weights.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/rare/rare.h"

namespace htfm HTFM_PUBLIC {

/// Writes samples (.npy: float64, n x columns, of fields float32, n x c x h x w; or .csv) and their weights (n) into a
/// file of their own, or, where none is named and the samples are a .csv, into a last column `weight`.
void write_rare_samples(const Model& model, const RareSamples& drawn, const std::string& path,
                        const std::string& weights = {});

}  // namespace htfm
