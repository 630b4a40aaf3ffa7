#include "htfm/io/program_queue.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "htfm/base/error.h"
#include "htfm/io/child_process.h"
#include "htfm/io/descriptor.h"
#include "htfm/io/file.h"

namespace htfm {

namespace {

pid_t start(const ProgramCall& call) {
  make_folder(std::filesystem::path(call.printed).parent_path().string());
  const Descriptor out(::open(call.printed.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), call.printed);
  if (!out.is_open()) throw Error("{}: {}", call.printed, system_reason(errno));
  return start_program(call.words, out.get(), out.get());
}

}  // namespace

std::vector<std::optional<int>> run_programs(const std::vector<ProgramCall>& calls, int64_t jobs,
                                             const std::function<bool()>& stop,
                                             const std::function<void(size_t done, size_t working)>& report) {
  std::vector<std::optional<int>> codes(calls.size());
  std::map<pid_t, size_t> working;
  size_t next = 0;
  while (next < calls.size() || !working.empty()) {
    while (next < calls.size() && static_cast<int64_t>(working.size()) < jobs && !stop()) {
      working[start(calls[next])] = next;
      ++next;
    }
    if (stop()) {
      for (const auto& [child, call] : working) ::kill(child, SIGTERM);
      for (const auto& [child, call] : working) wait_for_program(child);
      return codes;
    }
    std::erase_if(working, [&](const auto& entry) {
      codes[entry.second] = ended_program(entry.first);
      return codes[entry.second].has_value();
    });
    report(next - working.size(), working.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return codes;
}

}  // namespace htfm
