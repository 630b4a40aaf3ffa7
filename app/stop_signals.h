// Ctrl-C, SIGTERM and SIGUSR1 during long work: the work ends at the next good place, and the program with 130, 143
// or 75.
#pragma once

namespace htfm::app {

/// While it lives, the first SIGINT, SIGTERM or SIGUSR1 is only noted; a second one ends the program at once.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether one came.
  static bool came();
  /// The exit code that says so, or 0: 128 and the signal's number; of SIGUSR1, by which SLURM gives notice, 75: try
  /// again.
  static int exit_code();
};

}  // namespace htfm::app
