// Registries: entries with a name, and the lookup of one by its name in a config.
#pragma once

#include <string>
#include <string_view>

#include "htfm/base/error.h"

namespace htfm {

/// The entry with this name. InputError with the config key and all known names where there is none.
template <class Entries>
const auto& find_named(const Entries& entries, std::string_view name, std::string_view key) {
  std::string known;
  for (const auto& entry : entries) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw InputError("[{}] expected one of {}; got '{}'", key, known, name);
}

}  // namespace htfm
