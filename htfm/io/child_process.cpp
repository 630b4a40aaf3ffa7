#include "htfm/io/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "htfm/base/error.h"
#include "htfm/io/descriptor.h"

namespace htfm {

namespace {
int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
}  // namespace

pid_t start_program(std::vector<std::string> words, int out, int err) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, argv.front(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw Error("{}: {}", words.front(), system_reason(failed));
  return child;
}

int wait_for_program(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_code(status);
}

std::optional<int> ended_program(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, WNOHANG) == child ? std::optional(exit_code(status)) : std::nullopt;
}

std::string last_line(const std::string& printed) {
  const size_t end = printed.find_last_not_of(" \r\n") + 1;
  const size_t begin = end == 0 ? 0 : printed.find_last_of('\n', end - 1) + 1;
  return printed.substr(begin, end - begin);
}

}  // namespace htfm
