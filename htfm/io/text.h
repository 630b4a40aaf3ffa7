// Text out of files, made safe to show on one line of a message.
#pragma once

#include <string>
#include <string_view>

namespace htfm {

/// The text between single quotes, control characters escaped, cut at 40 bytes.
std::string in_quotes(std::string_view text);

}  // namespace htfm
