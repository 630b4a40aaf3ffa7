// Links in folders that may be somebody else's.
#pragma once

#include <filesystem>
#include <string>

#include "htfm/base/error.h"
#include "htfm/io/text.h"

namespace htfm {

/// InputError where `path` is a symbolic link: what is written there would replace a file elsewhere.
inline void refuse_link(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_symlink(path, none))
    throw InputError("[write] {}: expected a file or folder of its own, got a link to {}: remove the link", path,
                     printable(std::filesystem::read_symlink(path, none).string()));
}

}  // namespace htfm
