#include "htfm/io/text.h"

#include <fmt/format.h>

namespace htfm {

std::string in_quotes(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string out = "'";
  for (const char c : text.substr(0, kMost)) {
    if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += text.size() > kMost ? "...'" : "'";
  return out;
}

}  // namespace htfm
