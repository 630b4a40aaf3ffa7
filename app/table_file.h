// A table and how to read it, as the commands that take a user's table ask for it.
#pragma once

#include <CLI/CLI.hpp>

#include "htfm/data/dataset.h"

namespace htfm::app {

/// The options of a command that reads a table; rows with missing values are dropped unless the user says otherwise.
struct TableFile : FileSpec {
  /// For a command that takes numbers alone.
  void add(CLI::App& command);
  /// And what columns may hold, for a command that takes more than numbers: missing values are kept then.
  void add_with_kinds(CLI::App& command);

 private:
  void add_file(CLI::App& command, const std::string& about_missing, std::vector<std::string> ways);
};

}  // namespace htfm::app
