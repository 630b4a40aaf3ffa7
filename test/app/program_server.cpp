#include "test/app/program_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "app/commands.h"
#include "app/program.h"

namespace htfm::test {

namespace {

int server = -1;  // our end of the socket

// One command, as the program's main() would run it.
[[noreturn]] void run_here(const std::array<std::string, 4>& request) {
  const auto& [folder, arguments, out, err] = request;
  const int output = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644),
            error = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), input = ::open("/dev/null", O_RDONLY);
  wordexp_t words;
  if (::chdir(folder.c_str()) != 0 || output < 0 || error < 0 || ::dup2(input, 0) < 0 || ::dup2(output, 1) < 0 ||
      ::dup2(error, 2) < 0 || ::wordexp(("htfm " + arguments).c_str(), &words, WRDE_NOCMD) != 0)
    ::_exit(127);
  ::close_range(3, ~0U, 0);
  std::exit(app::run_program(static_cast<int>(words.we_wordc), words.we_wordv, app::add_commands));
}

[[noreturn]] void serve(int socket) {
  for (;;) {
    std::array<std::string, 4> request;
    std::string bytes(1 << 16, '\0');
    const ssize_t n = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (n <= 0) ::_exit(0);  // the tests are over
    size_t at = 0;
    for (std::string& part : request) part = bytes.c_str() + at, at += part.size() + 1;
    const pid_t child = ::fork();
    if (child == 0) run_here(request);
    int status = -1;
    ::waitpid(child, &status, 0);
    if (::send(socket, &status, sizeof status, 0) != sizeof status) ::_exit(1);
  }
}

class Start : public testing::Environment {
 public:
  void SetUp() override {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
    std::fflush(nullptr);  // or the copies would print it too
    if (::fork() == 0) {
      ::close(ends[0]);
      serve(ends[1]);
    }
    ::close(ends[1]);
    server = ends[0];
  }
};
const testing::Environment* const start = testing::AddGlobalTestEnvironment(new Start);

}  // namespace

bool ProgramServer::takes(const std::string& arguments) {
  return arguments.find_first_of("|&;<>()$`\\{}\n*?[#~") == std::string::npos && !arguments.starts_with("sweep");
}

int ProgramServer::run(const std::string& folder, const std::string& arguments, const std::string& out,
                       const std::string& err) {
  std::string request;
  for (const std::string& part : {folder, arguments, out, err}) request.append(part).push_back('\0');
  int status = -1;
  if (::send(server, request.data(), request.size(), 0) != static_cast<ssize_t>(request.size()) ||
      ::recv(server, &status, sizeof status, 0) != sizeof status)
    throw std::runtime_error("the program's server is gone");
  return status;
}

}  // namespace htfm::test
