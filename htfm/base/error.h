// The two kinds of failure. The library throws; only the program prints.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace htfm {

/// A failure that the user did not cause: exit code 1.
class Error : public std::runtime_error {
 public:
  template <class... Args>
  explicit Error(fmt::format_string<Args...> text, Args&&... args) : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
};

/// Bad input or usage, as "[where] expected ... got ...": exit code 2.
class InputError : public Error {
 public:
  using Error::Error;
};

}  // namespace htfm
