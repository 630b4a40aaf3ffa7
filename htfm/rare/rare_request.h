// Rare events as a user asks for them: a level or a condition in words, samples in files or their probability alone.
#pragma once

#include <optional>
#include <string>

#include "htfm/base/api.h"
#include "htfm/rare/rare.h"

namespace htfm HTFM_PUBLIC {

/// Either samples beyond the quantile of a number ("0.999" of the size, "loss:0.999"), or those that meet a condition
/// ("loss > 5e6 and region_a > 0").
struct RareRequest {
  std::string beyond = {}, where = {};
  int64_t n = 0;             ///< samples; without a file, draws of the estimate where it is not 0
  std::string file = {};     ///< for the samples (.npy, .csv); empty: only what is known of the event is wanted
  std::string weights = {};  ///< for their weights: write_rare_samples
};

struct RareAnswer {
  std::string event = {};                            ///< what was asked for
  std::optional<RareQuantile> threshold = {};        ///< beyond a quantile: where that is
  std::optional<EventProbability> probability = {};  ///< of a condition, or where samples were drawn
};

/// Draws and writes what is asked for. InputError where the words cannot be read, or both kinds are asked for.
RareAnswer answer_rare(const Model& model, const RareRequest& request, const RareOptions& options = {});

}  // namespace htfm
