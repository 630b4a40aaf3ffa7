#include "app/program.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <malloc.h>

#include <new>

#include "htfm/base/error.h"
#include "htfm/version.h"

namespace htfm::app {

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// "Tried to allocate 8.79 GiB. GPU 0 has a total capacity of 139.80 GiB of which 6.28 GiB is free", without the advice
// around it.
std::string what_was_asked(const std::string& message) {
  const size_t first = message.find("Tried"), last = message.find(" is free");
  return first == std::string::npos || last == std::string::npos || last < first
             ? message
             : message.substr(first, last + 8 - first);
}

// Images are given back and asked for again at every layer: keep their pages instead of having the kernel clear new
// ones.
void keep_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most it takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace

int run_program(int argc, char** argv, const std::function<void(CLI::App&)>& add_commands) {
  keep_memory();
  CLI::App app{"Generative models of data with rare extremes: heavy-tailed flow matching via random clocks.", "htfm"};
  app.set_version_flag("--version", HTFM_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  add_commands(app);
  // CLI11 would only say that a subcommand is missing.
  const auto known = app.get_subcommands({});
  if (argc > 1 && argv[1][0] != '-' &&
      std::none_of(known.begin(), known.end(), [&](const CLI::App* c) { return c->get_name() == argv[1]; })) {
    fmt::print(stderr, "htfm: expected a command, got '{}' (htfm --help lists them)\n", argv[1]);
    return 2;
  }
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "htfm: {} (htfm --help shows the usage)\n", e.what());
    return 2;
  } catch (const InputError& e) {
    fmt::print(stderr, "htfm: {}\n", e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "htfm: out of memory\n");
    return 1;
  } catch (const c10::OutOfMemoryError& e) {
    fmt::print(stderr,
               "htfm: [cuda] out of memory: a smaller train.batch, or fewer samples at a time, would fit ({})\n",
               what_was_asked(first_line(e.msg())));
    return 1;
  } catch (const c10::Error& e) {
    fmt::print(stderr, "htfm: [torch] {}\n", first_line(e.msg()));
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "htfm: {}\n", e.what());
    return 1;
  }
}

}  // namespace htfm::app
