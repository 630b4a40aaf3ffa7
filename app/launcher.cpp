// The program htfm as a shell meets it: says its version at once, and hands everything else to htfm-program, which
// takes a quarter of a second to load LibTorch.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "htfm/version.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts(HTFM_VERSION);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  // SLURM's notice may come before the program can act on it: until then it waits.
  sigset_t notice;
  ::sigemptyset(&notice);
  ::sigaddset(&notice, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &notice, nullptr);
  char self[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self - 1);
  const std::string own(self, n > 0 ? static_cast<size_t>(n) : 0),
      program = own.substr(0, own.rfind('/') + 1) + "htfm-program";
  ::execv(program.c_str(), argv);
  std::fprintf(stderr, "htfm: expected the program %s beside this one: %s\n", program.c_str(), std::strerror(errno));
  return 1;
}
