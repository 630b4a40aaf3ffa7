// The kinds of failure. The library throws; only the program prints. Both are known by name across shared
// libraries.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// A failure that the user did not cause: exit code 1.
class HTFM_PUBLIC Error : public std::runtime_error {
 public:
  template <class... Args>
  explicit Error(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
};

/// Bad input or usage, as "[where] expected ... got ...": exit code 2.
class HTFM_PUBLIC InputError : public Error {
 public:
  using Error::Error;
};

/// The caller asked for an end, and what was done so far is kept where the text says.
class HTFM_PUBLIC Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace htfm
