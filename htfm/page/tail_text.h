// A diagnosis of tails as text: an aligned table, or JSON.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/tail/diagnosis.h"

namespace htfm HTFM_PUBLIC {

/// The diagnosis as an aligned table of text: tails with their indices, then the skewness of each column.
std::string diagnosis_text(const Diagnosis& diagnosis);

/// The diagnosis as one JSON object: verdicts, indices with intervals (null: no power law), thresholds, return levels.
std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace htfm
