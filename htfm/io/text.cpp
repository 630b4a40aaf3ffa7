#include "htfm/io/text.h"

#include <fmt/format.h>

namespace htfm {

std::string printable(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string_view shown = text.substr(0, kMost);
  if (shown.size() < text.size()) {
    // Not inside a character of several bytes.
    while (!shown.empty() && (text[shown.size()] & 0xc0) == 0x80) shown.remove_suffix(1);
  }
  std::string out;
  for (const char c : shown) {
    if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return shown.size() < text.size() ? out + "..." : out;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

}  // namespace htfm
