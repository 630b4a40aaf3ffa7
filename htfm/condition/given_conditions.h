// Conditions that samples are drawn under, as a user gives them.
#pragma once

#include <cstdint>
#include <string>

#include "htfm/base/api.h"
#include "htfm/base/random.h"
#include "htfm/condition/condition_encoder.h"

namespace htfm HTFM_PUBLIC {

struct GivenConditions {
  at::Tensor rows = {};  ///< rows x width, float64; NaN: not given. Undefined: nothing is given
  int64_t each = 1;      ///< samples of a row, one after the other; after the last row the first comes again

  bool there() const { return rows.defined(); }
  /// The conditions of samples first to first + n: what is not given is drawn from what was seen in training.
  at::Tensor of_samples(const ConditionEncoder& encoder, int64_t first, int64_t n, Key key) const;
  /// A hash of what is given; empty where nothing is.
  std::string hash() const;
};

/// From "line=fire,region=EU": one row for all samples. InputError for names and categories that are not known.
GivenConditions parse_given(const ConditionEncoder& encoder, const std::string& text);
/// From a table with a column for each condition, or an .npy array of them in their order: a row each. A cell without a
/// value is not given.
GivenConditions read_given(const ConditionEncoder& encoder, const std::string& path);
/// From a prepared set of fields, or an .npy array n x c x h x w of them in their own units: a row each. Fields of a
/// finer grid are given by their means over its blocks.
GivenConditions read_given_fields(const ConditionEncoder& encoder, const std::string& path);
/// From any of these: a text with a '=' or a file.
GivenConditions find_given(const ConditionEncoder& encoder, const std::string& text_or_path);

}  // namespace htfm
