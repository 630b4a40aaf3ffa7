// Another program that is started and waited for.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Starts a program (looked for in PATH where its name has no '/') with an empty input; what it prints goes to open
/// descriptors. Error with the system's reason where it cannot be started.
pid_t start_program(std::vector<std::string> words, int out, int err);

/// Waits for it: its exit code, or -1 where a signal ended it.
int wait_for_program(pid_t child);
/// The same where it has ended; nothing where it is still at work.
std::optional<int> ended_program(pid_t child);

/// The last line of what a program has printed, which says why it failed; empty where it is empty.
std::string last_line(const std::string& printed);

}  // namespace htfm
