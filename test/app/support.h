// Running the program as a user does.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "test/app/program_server.h"
#include "test/data.h"
#include "test/temporary_folder.h"

namespace htfm {

/// What a command has said without its signs of life ("... working (2 s)"): only a slow machine sees them.
inline std::string without_signs(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("... ")) out += line + (lines.eof() ? "" : "\n");
  return out;
}

struct Outcome {
  int code;
  std::string out, err;
};

using test::slurp;

/// The program as a user starts it.
inline std::string program() { return test::built_file("htfm"); }

class Workplace {
 public:
  std::string operator/(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& bytes) const { test::spill(folder_ / name, bytes); }

  /// Runs `htfm ARGUMENTS` in this folder, with variables of the environment (`NAME=value NAME=value`): by a shell, or
  /// where that makes no difference by the server, which is quicker.
  Outcome run(const std::string& arguments, const std::string& environment = "") const {
    const std::string out = folder_ / ".out", err = folder_ / ".err";
    const std::string command = "cd '" + folder_.path() + "' && " + environment + " '" + program() + "' " + arguments +
                                " >'" + out + "' 2>'" + err + "' </dev/null";
    const bool quick = environment.empty() && test::ProgramServer::takes(arguments);
    const int status =
        quick ? test::ProgramServer::run(folder_.path(), arguments, out, err) : std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(out), without_signs(slurp(err))};
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace htfm
