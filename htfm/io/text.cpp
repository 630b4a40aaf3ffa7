#include "htfm/io/text.h"

#include <fmt/format.h>

namespace htfm {

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || text.size() < length) return 0;
  uint32_t code = first & (0x7fu >> length);
  for (size_t k = 1; k < length; ++k) {
    if ((text[k] & 0xc0) != 0x80) return 0;
    code = code << 6 | (text[k] & 0x3fu);
  }
  // Neither longer than needed, nor half of a pair of UTF-16, nor beyond Unicode.
  constexpr uint32_t kLeast[] = {0x80, 0x800, 0x10000};
  return code < kLeast[length - 2] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff ? 0 : length;
}

namespace {

// What Windows-1252 has from 0x80 to 0x9f, where Latin-1 has control characters; 0: nothing.
constexpr uint16_t kWindows[32] = {0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                   0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
                                   0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                   0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

void append_windows(unsigned char byte, std::string& out) {
  const bool own = byte >= 0x80 && byte < 0xa0 && kWindows[byte - 0x80] != 0;
  const uint32_t code = own ? kWindows[byte - 0x80] : byte;
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

std::string as_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      std::string out;
      for (const char c : text) append_windows(static_cast<unsigned char>(c), out);
      return out;
    }
    at += length;
  }
  return std::string(text);
}

std::string shown_text(std::string_view text) {
  const std::string utf8 = as_utf8(text);
  std::string out;
  for (size_t at = 0; at < utf8.size(); ++at) {
    const auto byte = static_cast<unsigned char>(utf8[at]);
    const auto next = at + 1 < utf8.size() ? static_cast<unsigned char>(utf8[at + 1]) : 0;
    const bool line_end = byte == '\n' || (byte == '\r' && next == '\n');
    if ((byte < 0x20 && byte != '\t' && !line_end) || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else if (byte == 0xc2 && next < 0xa0)  // the second set of control characters
      out += fmt::format("\\x{:02x}", utf8[++at] & 0xff);
    else
      out += utf8[at];
  }
  return out;
}

std::string printable(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string_view shown = text.substr(0, kMost);
  const bool cut = shown.size() < text.size();
  if (cut) {
    // Not inside a character of several bytes.
    while (!shown.empty() && (text[shown.size()] & 0xc0) == 0x80) shown.remove_suffix(1);
  }
  std::string out;
  while (!shown.empty()) {
    const size_t length = utf8_length(shown);
    if (const auto byte = static_cast<unsigned char>(shown[0]); length == 0 || byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
      shown.remove_prefix(1);
    } else {
      out += shown.substr(0, length);
      shown.remove_prefix(length);
    }
  }
  return cut ? out + "..." : out;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string json_reason(std::string_view text) {
  const size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  return printable(end == std::string_view::npos ? text : text.substr(end + 2));
}

}  // namespace htfm
