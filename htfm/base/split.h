// Lists in one text, as options and configs state them: "a,b,c".
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace htfm {

/// The parts between separators. An empty text has none; a separator at the end adds none.
inline std::vector<std::string> split(std::string_view text, char separator = ',') {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t length = text.find(separator);
    parts.emplace_back(text.substr(0, length));
    text.remove_prefix(length < text.size() ? length + 1 : text.size());
  }
  return parts;
}

/// The words between any of some separators, of which several may stand together.
inline std::vector<std::string> split_words(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// The text without blanks at its ends.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t") {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace htfm
