// Text out of files, made safe to show on one line of a message.
#pragma once

#include <string>
#include <string_view>

namespace htfm {

/// The text with control characters escaped, cut after 40 bytes.
std::string printable(std::string_view text);
/// The same between single quotes.
std::string in_quotes(std::string_view text);

}  // namespace htfm
