#include "htfm/io/python_bridge.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "htfm/base/error.h"
#include "htfm/io/descriptor.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {

namespace {

/// An unnamed file in memory.
Descriptor memory_file(const char* name) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC), name);
  if (!file.is_open()) throw Error("[python] cannot make a buffer: {}", system_reason(errno));
  return file;
}

std::string content(const Descriptor& file) {
  std::string text;
  char buffer[1 << 16];
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(file.get(), buffer, sizeof buffer, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error("[python] cannot read a buffer: {}", system_reason(errno));
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    at += n;
  }
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "nothing";
  const size_t begin = text.find_last_of('\n', end) + 1;
  return printable(text.substr(begin, end + 1 - begin));
}

}  // namespace

PythonAnswer run_python(const std::string& python, const char* script, const std::string& path,
                        const std::string& what) {
  const FileSource there(path);  // names a file that is not there before Python is asked
  const Descriptor out = memory_file("csv"), err = memory_file("messages");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.get(), STDERR_FILENO);
  std::string arguments[] = {python, "-I", "-c", script, path};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  arguments[3].data(), arguments[4].data(), nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, python.c_str(), &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw InputError("[table] {}: expected a Python with {}, got none: {}: {}", path, what, python,
                     system_reason(failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), last_line(content(err))};
}

}  // namespace htfm
