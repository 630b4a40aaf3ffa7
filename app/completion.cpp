// htfm completion: the words of the command line for shells, and the manual page, from the commands themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands.h"
#include "htfm/version.h"

namespace htfm::app {

namespace {

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> out;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // not listed
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
  return out;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands({})) out.push_back(command->get_name());
  return out;
}

// zsh reads the same after bashcompinit.
std::string bash(const CLI::App& app) {
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({}))
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), fmt::join(option_names(*command), " "));
  return fmt::format(
      "_htfm() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} words\n"
      "  case ${{COMP_WORDS[1]}} in\n"
      "{}"
      "    *) words=\"{}\" ;;\n"
      "  esac\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then words=\"{} --help --version\"; fi\n"
      "  if [[ $COMP_CWORD -eq 1 || $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _htfm htfm\n",
      cases, fmt::join(command_names(app), " "), fmt::join(command_names(app), " "));
}

std::string fish(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : app.get_subcommands({})) {
    out += fmt::format("complete -c htfm -n __fish_use_subcommand -a {}\n", command->get_name());
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_group().empty() ? std::vector<std::string>() : option->get_lnames())
        out += fmt::format("complete -c htfm -n '__fish_seen_subcommand_from {}' -l {}\n", command->get_name(), name);
  }
  return out;
}

// Text of a manual page: a line that begins with a dot, and hyphens, mean something there.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string manual(const CLI::App& app) {
  std::string out = fmt::format(
      ".TH HTFM 1 \"\" \"htfm {}\"\n.SH NAME\nhtfm \\- {}\n.SH SYNOPSIS\n.B htfm\n"
      "COMMAND [OPTIONS]\n.SH COMMANDS\n",
      HTFM_VERSION, roff(app.get_description()));
  for (const CLI::App* command : app.get_subcommands({})) {
    out += fmt::format(".SS htfm {}\n{}\n", roff(command->get_name()), roff(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_group().empty()) continue;
      const std::string name = option->get_positional() ? option->get_name(true) : option->get_name(false, true);
      out += fmt::format(".TP\n.B {}\n{}\n", roff(name), roff(option->get_description()));
    }
    if (!command->get_footer().empty()) out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command->get_footer()));
  }
  return out +
         ".SH EXIT STATUS\n0 done; 2 bad input or usage; 1 any other failure; 130 and 143 stopped by a signal, 75 the "
         "same in a job that can be started again.\n";
}

}  // namespace

void add_completion(CLI::App& app) {
  auto kind = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("completion", "Print a completion script for a shell, or the manual page");
  c->footer(
      "Example: htfm completion bash > ~/.local/share/bash-completion/completions/htfm\n"
      "         htfm completion man | man -l -");
  c->add_option("kind", *kind, "bash (zsh: after bashcompinit), fish or man")
      ->required()
      ->check(one_of({"bash", "fish", "man"}));
  c->callback([kind, &app] {
    fmt::print("{}", *kind == "man" ? manual(app) : *kind == "fish" ? fish(app) : bash(app));
  });
}

}  // namespace htfm::app
