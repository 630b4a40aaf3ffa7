// What went wrong inside LibTorch, in one line.
#pragma once

#include <exception>
#include <string>

namespace htfm {

/// The line of LibTorch's message that says what went wrong: traces of its own code and of a script stand before and
/// after it.
std::string torch_reason(const std::exception& error);

}  // namespace htfm
