// A model and its configuration in words and numbers, for people and for reports.
#pragma once

#include <cstdint>
#include <string>

#include "htfm/base/api.h"
#include "htfm/clock/clock.h"

namespace htfm HTFM_PUBLIC {

/// What a model is: how it was made, what it was trained on, how far.
struct ModelDescription {
  std::string method, clock, feature, schedule, coupling;
  bool precondition = false;
  std::string data_scale;
  std::string network;  ///< its kind
  int64_t parameters = 0, dimension = 0;
  int64_t step = 0, skipped_steps = 0;
  std::string data, data_hash, weights_hash;
  int64_t seed = 0;
  std::string method_options;     ///< empty where the method has none
  std::string condition;          ///< what is given; empty where nothing is
  std::string clock_explanation;  ///< why the data chose this clock; empty where the configuration names it
};

/// "HTFM-G", "HTFM-α 1.7", "HTFM-t 3", or the family's name: how the paper calls a clock. A baseline: "DLPM-α 1.7".
std::string variant_name(const ClockSpec& clock, const std::string& method = "htfm");

/// A description as one JSON object; what is empty is left out.
std::string description_json(const ModelDescription& description);

}  // namespace htfm
