// A flat TOML file as names and values in text, for commands whose options may stand in a file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Keys in the file's order, each with one value, or those of an array. InputError names file and line.
std::vector<std::pair<std::string, std::vector<std::string>>> read_toml_options(const std::string& path);

}  // namespace htfm
