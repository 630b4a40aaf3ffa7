// A grid of settings: every combination of the values of some keys.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct GridPoint {
  std::string name;                   ///< of the keys that vary, fit for a folder: clock.alpha=1.5,train.lr=0.001
  std::vector<std::string> settings;  ///< key=value, of all keys
};

/// From "key=a,b,c", which varies a key, and "key=a", which sets it; a value with commas of its own cannot vary.
/// InputError for anything else, and beyond 10,000 points.
std::vector<GridPoint> setting_grid(const std::vector<std::string>& settings);

}  // namespace htfm
