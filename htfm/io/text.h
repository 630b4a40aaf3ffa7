// Text out of files, made safe to show on one line of a message.
#pragma once

#include <string>
#include <string_view>

namespace htfm {

/// The length of the character of UTF-8 that `text` begins with; 0 where it begins with none.
size_t utf8_length(std::string_view text);
/// The text in UTF-8: as it is where it is that already, else each byte taken as a character of Windows-1252
/// (Latin-1 with more).
std::string as_utf8(std::string_view text);
/// The same with control characters escaped that a terminal would obey; tabs and ends of lines stay. For names and
/// texts of files, which are shown.
std::string shown_text(std::string_view text);
/// The text with control characters and bytes outside UTF-8 escaped, cut after 40 bytes.
std::string printable(std::string_view text);
/// The same between single quotes.
std::string in_quotes(std::string_view text);
/// The text with the letters A to Z as small ones.
std::string lower_case(std::string text);
/// What the library that reads JSON says, without the name of its exception before it.
std::string json_reason(std::string_view text);

}  // namespace htfm
