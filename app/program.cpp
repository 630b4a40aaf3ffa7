#include "app/program.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "app/processes.h"
#include "app/status.h"
#include "app/stop_signals.h"
#include "htfm/base/dispatch.h"
#include "htfm/base/error.h"
#include "htfm/base/nearest.h"
#include "htfm/io/descriptor.h"
#include "htfm/version.h"

namespace htfm::app {

namespace {

// A message is one line, whoever wrote it.
std::string one_line(std::string text) {
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;)
    text.replace(at, 1, at + 1 < text.size() ? " " : "");
  return text;
}

int fail(int code, const std::string& message) {
  const std::string text = "htfm: " + one_line(message) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);  // fmt would throw where standard error is full
  return code;
}

// A standard stream that was closed would be the next file that is opened, and take what is printed.
void open_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) < 0)
      std::_Exit(1);
}

// What was printed may not have arrived: a full disk is told of when the buffer goes out.
int close_output(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  return fail(1, fmt::format("standard output: {}", system_reason(errno)));
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// "Tried to allocate 8.79 GiB. GPU 0 has a total capacity of 139.80 GiB of which 6.28 GiB is free", without the advice
// around it.
std::string what_was_asked(const std::string& message) {
  const size_t first = message.find("Tried"), last = message.find(" is free");
  return first == std::string::npos || last == std::string::npos || last < first
             ? message
             : message.substr(first, last + 8 - first);
}

// "htfm fit", or "htfm" where no command was reached.
std::string command_text(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return "htfm" + (chosen.empty() ? "" : " " + chosen.front()->get_name());
}

std::string first_example(const CLI::App& command) {
  const std::string text = command.get_footer();
  const std::string_view start = "Example: ";
  const size_t at = text.find(start);
  if (at == std::string::npos) return {};
  const std::string line = first_line(text.substr(at + start.size()));
  return line.substr(0, line.find("    "));  // what follows is another command
}

// What CLI11 finds wrong, in words that say what to do.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  std::string text = error.what();
  if (chosen.empty()) {
    const std::vector<std::string> words = app.remaining();
    return fmt::format("expected a command, got {} (htfm --help lists them)",
                       words.empty() ? "none" : "'" + words.front() + "'");
  }
  const CLI::App& command = *chosen.front();
  constexpr std::string_view kRequired = " is required";
  if (dynamic_cast<const CLI::RequiredError*>(&error) && text.ends_with(kRequired)) {
    const CLI::Option* option = command.get_option_no_throw(text.substr(0, text.size() - kRequired.size()));
    const std::string example = first_example(command);
    if (option)
      text = fmt::format("give {}: {}{}", option->get_positional() ? option->get_name() : option->get_name(false, true),
                         option->get_description(), example.empty() ? "" : "; for example: " + example);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error))
    for (const std::string& word : command.remaining()) {
      text = fmt::format("expected no further word, got '{}'", word);
      if (!word.starts_with('-')) continue;
      std::vector<std::string> names;
      for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      const std::string given = word.substr(0, word.find('=')), like = nearest_name(given, names, 2);
      text = fmt::format("there is no option {}{}", given, like.empty() ? "" : fmt::format(": did you mean {}?", like));
      break;
    }
  return fmt::format("{} ({} --help shows all options)", text, command_text(app));
}

// Images are given back and asked for again at every layer: keep their pages instead of having the kernel clear new
// ones.
void keep_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most it takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

// Ends without the destructors of what LibTorch has registered, which take a third of the time of a short command;
// sanitizers look for leaks after them.
int leave(int code) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  std::fflush(nullptr);
  std::quick_exit(code);
#endif
  return code;
}

int parse_and_run(int argc, char** argv, const std::function<void(CLI::App&)>& add_commands) {
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write(), which says which one
  keep_memory();
  CLI::App app{"Generative models of data with rare extremes: heavy-tailed flow matching via random clocks.", "htfm"};
  app.set_version_flag("--version", HTFM_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  add_commands(app);
  if (argc == 1) {
    const std::string help = app.help();
    std::fwrite(help.data(), 1, help.size(), stderr);
    return 2;
  }
  // CLI11 would only say that a subcommand is missing.
  const auto known = app.get_subcommands({});
  if (argc > 1 && argv[1][0] != '-' &&
      std::none_of(known.begin(), known.end(), [&](const CLI::App* c) { return c->get_name() == argv[1]; })) {
    std::vector<std::string> names;
    for (const CLI::App* c : known) names.push_back(c->get_name());
    const std::string like = nearest_name(argv[1], names, 2);
    return fail(2, fmt::format("expected a command, got '{}'{} (htfm --help lists them)", argv[1],
                               like.empty() ? "" : fmt::format(": did you mean {}?", like)));
  }
  const SignOfLife watched;
  try {
    isa();  // refuses what HTFM_ISA should not say, before any work
    app.parse(argc, argv);
    end_processes();
    return close_output(0);
  } catch (const CLI::Success& e) {
    return close_output(app.exit(e));
  } catch (const CLI::ParseError& e) {
    return fail(2, usage_message(app, e));
  } catch (const InputError& e) {
    return end_with(2, e.what());
  } catch (const Interrupted& e) {
    return end_stopped(std::max(1, StopSignals::exit_code()), e.what());
  } catch (const std::bad_alloc&) {
    return end_with(1, "out of memory");
  } catch (const std::length_error&) {  // more than any memory holds
    return end_with(1, "out of memory");
  } catch (const c10::OutOfMemoryError& e) {
    return end_with(
        1, fmt::format("[cuda] out of memory: a smaller train.batch, or fewer samples at a time, would fit ({})",
                       what_was_asked(first_line(e.msg()))));
  } catch (const c10::Error& e) {
    const std::string text = first_line(e.msg());
    const size_t asked = text.find("you tried to allocate");
    return end_with(1, asked == std::string::npos ? "[torch] " + text : "out of memory: " + text.substr(asked));
  } catch (const std::exception& e) {
    return end_with(1, e.what());
  }
}

}  // namespace

int run_program(int argc, char** argv, const std::function<void(CLI::App&)>& add_commands) {
  open_standard_streams();
  return leave(parse_and_run(argc, argv, add_commands));
}

}  // namespace htfm::app
