// What the entry points of the fuzzers share.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "htfm/base/error.h"

namespace htfm::fuzz {

/// Ends the program where a law about accepted input is broken or cannot even be tried.
template <class Law>
void must_hold(Law law) noexcept {
  if (!law()) std::abort();
}

/// True where an action is done, false where it is refused.
template <class Action>
bool accepts(Action action) {
  try {
    action();
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Bytes as a file that has a name as long as this lives, in other processes too, without a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", 0)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
    path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

}  // namespace htfm::fuzz
