#include "htfm/io/toml_text.h"

#include <string_view>

#include "htfm/base/error.h"

namespace htfm {
namespace {

constexpr int kMostParts = 64;  // of a key: a.b.c has three

/// Where the string that begins at `at` ends: after its closing quotes, or at the end of the text.
size_t after_string(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool lines = text.substr(at).starts_with(three);
  const std::string_view close = lines ? std::string_view(three) : std::string_view(three).substr(0, 1);
  for (size_t i = at + close.size(); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\')
      ++i;
    else if (text.substr(i).starts_with(close) || (!lines && text[i] == '\n'))
      return i + (text[i] == '\n' ? 0 : close.size());
  }
  return text.size();
}

void check_keys(std::string_view text, const std::string& origin) {
  int parts = 1, line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const size_t end = after_string(text, i);
      for (; i + 1 < end; ++i) line += text[i] == '\n';
    } else if (c == '#') {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (c == '.') {
      if (++parts > kMostParts)
        throw InputError("{}:{}: expected keys of at most {} parts, got a longer one", origin, line, kMostParts);
    } else if (c == '\n' || c == '=' || c == '[' || c == ']' || c == '{' || c == '}' || c == ',') {
      parts = 1, line += c == '\n';
    }
  }
}

// "Error while parsing key-value pair: expected '=', saw 't'" in our words.
std::string reason_of(std::string_view text) {
  constexpr std::string_view kStart = "Error while parsing ";
  const size_t colon = text.find(": ");
  if (!text.starts_with(kStart) || colon == std::string_view::npos) return std::string(text);
  std::string rest(text.substr(colon + 2));
  if (const size_t saw = rest.rfind(", saw "); saw != std::string::npos) rest.replace(saw, 6, ", got ");
  return fmt::format("a wrong {}: {}", text.substr(kStart.size(), colon - kStart.size()), rest);
}

}  // namespace

toml::table parse_toml(const std::string& text, const std::string& origin) {
  check_keys(text, origin);
  try {
    return toml::parse(text, origin);
  } catch (const toml::parse_error& e) {
    throw InputError("{}:{}: expected TOML, got {}", origin, e.source().begin.line, reason_of(e.description()));
  }
}

}  // namespace htfm
