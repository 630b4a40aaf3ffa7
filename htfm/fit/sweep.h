// A grid of settings: a run for each point of it, trained by programs of their own, several at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct SweepOptions {
  std::string config = {};  ///< TOML file; empty: the defaults
  std::vector<std::string> settings =
      {};  ///< key=value, or key=a,b,c for a run with each value (setting_grid); checked before all work
  std::string folder = {};  ///< of the runs, one folder each
  std::vector<std::string> train =
      {};  ///< the program that trains, and its first words; file, --set, -o and --resume follow
  int64_t jobs = 1;
  bool resume = false;  ///< runs that are there go on; otherwise they are refused
  std::function<bool()> stop = [] { return false; };
  std::function<void(size_t done, size_t all, size_t working)> report = [](size_t, size_t, size_t) {};
};

struct SweptRun {
  std::string name = {};  ///< of its folder
  int64_t steps = 0;
  std::optional<double> loss = {}, validation = {};  ///< the last loss, and the least of the validation
  std::string failed = {};                           ///< the last line of a training that failed; otherwise empty
};

/// Trains them all; what a training prints goes into train.txt in its folder. Interrupted where `stop` says so.
std::vector<SweptRun> sweep(const SweepOptions& options);

}  // namespace htfm
