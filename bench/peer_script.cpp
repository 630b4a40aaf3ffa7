#include "bench/peer_script.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "bench/bench.h"

namespace htfm::app {

std::vector<Json> run_peer_script(const std::string& python, const std::string& path,
                                  const std::vector<std::string>& arguments,
                                  const std::function<void(const Json&)>& each) {
  std::vector<Json> out;
  if (python.empty() || !std::filesystem::exists(path)) return out;
  std::string command = shell_word(python) + " " + shell_word(path);
  for (const std::string& a : arguments) command += " " + shell_word(a);
  command += " 2>/dev/null";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) return out;
  std::string text;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe.get())) {
    text += buffer;
    if (!text.ends_with('\n')) continue;
    if (const Json j = Json::parse(text, nullptr, false); j.is_object()) {
      out.push_back(j);
      if (each) each(j);
    }
    text.clear();
  }
  return out;
}

}  // namespace htfm::app
