// Lists in one text, as options and configs state them: "a,b,c".
#pragma once

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

}  // namespace htfm
