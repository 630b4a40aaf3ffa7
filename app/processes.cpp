#include "app/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "htfm/base/error.h"
#include "htfm/version.h"

namespace htfm::app {

namespace {

Communicator* running = nullptr;
std::atomic<bool> silent = false;  // asked by the watcher of silence too
bool together = false;

}  // namespace

CommChoice start_processes(const std::string& asked) {
  const CommChoice choice = start_communicator(asked);
  running = choice.communicator;
  silent = running && running->rank() != 0;
  if (running) check_equal(*running, "program", "htfm " HTFM_VERSION);
  return choice;
}

Communicator* processes() { return running; }

bool speaks() { return !silent; }

void expect_one_process() {
  if (const Launch launch = find_launch(); launch.size > 1)
    throw InputError("[{0}] expected one process for this command, got {1}: start it without {0}", launch.launcher,
                     launch.size);
}

void stopped_together() { together = true; }

int end_stopped(int code, const std::string& reason) {
  if (!running || !together) return end_with(code, reason);
  const std::vector<double> codes = gather_values(*running, code);
  if (speaks()) fmt::print(stderr, "htfm: {}\n", reason);
  running->finish();
  return static_cast<int>(*std::max_element(codes.begin(), codes.end()));
}

int end_with(int code, const std::string& reason) {
  if (!running) {
    fmt::print(stderr, "htfm: {}\n", reason);
    return code;
  }
  // What fails in all of them is said once, by the first, which ends the others.
  std::this_thread::sleep_for(std::chrono::seconds(1) * std::min(running->rank(), 5));
  fmt::print(stderr, "htfm: rank {} of {} on {}: {}\n", running->rank(), running->size(), running->host(), reason);
  std::fflush(stderr);
  running->abort(code);
  return code;
}

void end_processes() {
  if (running) running->finish();
}

}  // namespace htfm::app
