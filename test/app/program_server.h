// The program without its start: most of what a short command takes is LibTorch's loading, a quarter of a second.
#pragma once

#include <string>

namespace htfm::test {

/// A process that has the program loaded and gives each command a copy of itself (fork). It is made before the first
/// test, while there are no threads, which a copy would not have.
class ProgramServer {
 public:
  /// Whether a command line may go here: one without signs that a shell reads, and of a command that does not start
  /// the program again by the name of its file.
  static bool takes(const std::string& arguments);
  /// Runs `htfm ARGUMENTS` in a folder, with its output in files there, and gives what wait() says of its end.
  static int run(const std::string& folder, const std::string& arguments, const std::string& out,
                 const std::string& err);
};

}  // namespace htfm::test
