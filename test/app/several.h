// Several processes of the program, as mpirun or torchrun would start them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "test/app/support.h"

namespace htfm::test {

/// mpirun and what it needs; "" where that cannot be.
inline std::string mpirun() {
  const std::string module = built_file("libhtfm_mpi.so");
  if (!std::filesystem::exists(module) || std::system("mpirun --version >/dev/null 2>&1") != 0) return "";
  // Open MPI unloads its parts before the leak sanitizer can tell that what they keep is theirs.
  return "LSAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe";
}

#define NEED_MPI() \
  if (test::mpirun().empty()) GTEST_SKIP() << "no mpirun, or no libhtfm_mpi.so"

/// A port that nobody listens at.
inline int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(fd, any, size), 0);
  EXPECT_EQ(::getsockname(fd, any, &size), 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

/// `mpirun -n K htfm ...` under way.
class MpiJob {
 public:
  /// Standard error goes to a file.
  MpiJob(int processes, const std::string& arguments, const std::string& err) : size_(processes) {
    const std::string command = "exec env " + mpirun() + " -n " + std::to_string(processes) + " '" + program() + "' " +
                                arguments + " --threads 1 >/dev/null 2>'" + err + "' </dev/null";
    child_ = ::fork();
    if (child_ != 0) return;
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~MpiJob() {
    if (child_ == 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  bool runs() {
    if (child_ != 0 && ::waitpid(child_, &status_, WNOHANG) == child_) child_ = 0;
    return child_ != 0;
  }
  /// Waits for the end, and gives the exit code; -1 where it does not come.
  int wait(std::chrono::seconds most) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (runs() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return child_ != 0 ? -1 : WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }
  /// The processes by their ranks, when all are there.
  std::map<int, pid_t> ranks() {
    std::map<int, pid_t> out;
    while (runs() && static_cast<int>(out.size()) < size_) {
      out.clear();
      for (const auto& entry : std::filesystem::directory_iterator("/proc"))
        if (const pid_t pid = std::atoi(entry.path().filename().c_str()); pid > 0 && parent_of(pid) == child_)
          if (const int rank = rank_of(pid); rank >= 0) out[rank] = pid;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return out;
  }
  static bool alive(pid_t pid) { return parent_of(pid) > 0; }

 private:
  static pid_t parent_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const size_t end = line.rfind(')');  // a name may hold anything
    if (end == std::string::npos || line.size() < end + 4 || line[end + 2] == 'Z') return 0;
    return std::atoi(line.c_str() + end + 4);
  }
  static int rank_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
    for (std::string word; std::getline(file, word, '\0');)
      if (word.starts_with("OMPI_COMM_WORLD_RANK=")) return std::atoi(word.c_str() + 21);
    return -1;
  }
  int size_, status_ = 0;
  pid_t child_ = 0;
};

}  // namespace htfm::test
