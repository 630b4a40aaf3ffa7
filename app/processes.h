// Several processes that carry out one command: how they start, who speaks, and how they end.
#pragma once

#include <string>

#include "htfm/comm/processes.h"

namespace htfm::app {

/// Starts the processes as --comm says; all must run the same program.
CommChoice start_processes(const std::string& asked);
/// The processes of this command; null where this one is alone.
Communicator* processes();
/// Whether this process prints and writes: rank 0, or the only one.
bool speaks();
/// InputError where a launcher has started several processes: of commands that one process carries out.
void expect_one_process();

/// Says that all processes have ended their work together where one was told to stop: their end is an orderly one.
void stopped_together();
/// The end of a command that was told to stop: the code of the process that was told so, for all of them.
int end_stopped(int code, const std::string& reason);
/// The end of a command that has failed: prints the line that says why, and ends all processes.
int end_with(int code, const std::string& reason);
/// The end of one that has not.
void end_processes();

}  // namespace htfm::app
