// Programs that wait for their turn, several at work at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// A program and its arguments, and the file that holds what it prints; the file's folder is made where it is not
/// there.
struct ProgramCall {
  std::vector<std::string> words;
  std::string printed;
};

/// Runs them in their order, `jobs` at a time, and gives their exit codes (-1 where a signal ended one). `stop` is
/// asked often: where it says yes, those at work are asked to end (SIGTERM) and waited for, and the codes of all that
/// had not ended by themselves are missing. `report`: how many have ended, and how many are at work.
std::vector<std::optional<int>> run_programs(const std::vector<ProgramCall>& calls, int64_t jobs,
                                             const std::function<bool()>& stop,
                                             const std::function<void(size_t done, size_t working)>& report);

}  // namespace htfm
