// Ctrl-C, SIGTERM and SIGUSR1 during long work: the work ends at the next good place, and the program with a code that
// says so.
#pragma once

namespace htfm::app {

/// While it lives, the first SIGINT, SIGTERM or SIGUSR1 is only noted; a second one ends the program at once. A process
/// of several that is told to terminate has 15 s for it: where another one is dead it would wait for ever.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether one came.
  static bool came();
  /// The exit code that says so, or 0: 128 and the signal's number; 75 (try again) of SIGUSR1, by which SLURM gives
  /// notice, and of SIGTERM in a job that mpirun, srun, torchrun or SLURM has started.
  static int exit_code();
};

}  // namespace htfm::app
