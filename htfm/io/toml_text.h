// TOML from a file that somebody else may have made.
#pragma once

#include <toml++/toml.h>

#include <string>

namespace htfm {

/// The tables of a text in TOML; `origin` is for messages. InputError that names the line for anything else, and for
/// keys of more parts than any file needs, which the library would follow until the stack ends.
toml::table parse_toml(const std::string& text, const std::string& origin);

}  // namespace htfm
