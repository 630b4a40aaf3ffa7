// Whether a table should have a skewed source, and which.
#pragma once

#include <optional>
#include <string>

#include "htfm/model/choose_clock.h"
#include "htfm/source/source_mean.h"

namespace htfm {

/// A named skewed source for a table.
struct ChosenSkew {
  std::string law;    ///< of skewed_sources()
  ChosenClock clock;  ///< of that law, with the reasons in sentences
  SourceMeanSpec mean;
};

/// The skewed source of rows n x dim, where all of this speaks for it: their diagnosis finds skewed tails, a skewed law
/// is much more likely than the symmetric ones, and its tail is the one that the diagnosis sees.
std::optional<ChosenSkew> suggest_skew(const at::Tensor& rows, const Diagnosis& diagnosis);

}  // namespace htfm
