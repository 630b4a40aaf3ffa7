// Commands that a second program, htfm-experiment, carries out: what is no part of a user's work stays out of the first
// one.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "app/commands.h"
#include "htfm/base/error.h"

namespace htfm::app {

void add_companion(CLI::App& app, const std::string& name, const std::string& summary) {
  CLI::App* c = app.add_subcommand(name, summary);
  c->prefix_command();  // what follows is for the other program
  c->set_help_flag();
  c->callback([c, name] {
    char self[PATH_MAX];
    const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self - 1);
    const std::string own(self, static_cast<size_t>(std::max<ssize_t>(n, 0)));
    const std::string path = own.substr(0, own.rfind('/') + 1) + "htfm-experiment";
    std::vector<std::string> words{path, name};
    for (const std::string& word : c->remaining()) words.push_back(word);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(path.c_str(), argv.data());
    throw InputError("[{}] expected the program {} (`make build` makes it), got: {}", name, path, std::strerror(errno));
  });
}

}  // namespace htfm::app
