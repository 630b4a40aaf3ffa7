// Looking things up by the name that a config gives them.
#pragma once

#include <string>
#include <string_view>

#include "htfm/base/error.h"

namespace htfm {

/// The entry of a registry whose `name` is asked for; otherwise an InputError that names the key and lists what there is.
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
