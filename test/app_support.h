// Running the program as a user does.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace htfm {

struct Outcome {
  int code;
  std::string out, err;
};

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Workplace {
 public:
  Workplace() {
    std::string name = (std::filesystem::temp_directory_path() / "htfm-app-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~Workplace() { std::filesystem::remove_all(path_); }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const { std::ofstream(path_ + "/" + name, std::ios::binary) << bytes; }

  /// Runs `htfm ARGUMENTS` in this folder.
  Outcome run(const std::string& arguments) const {
    const std::string command =
        "cd '" + path_ + "' && '" + HTFM_PROGRAM + "' " + arguments + " >'" + path_ + "/.out' 2>'" + path_ + "/.err' </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(path_ + "/.out"), slurp(path_ + "/.err")};
  }

 private:
  std::string path_;
};

}  // namespace htfm
