// A program with subcommands: exit 0 on success, 2 on bad input or usage, 1 on any other failure, and one line that
// says why.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace htfm::app {

int run_program(int argc, char** argv, const std::function<void(CLI::App&)>& add_commands);

}  // namespace htfm::app
