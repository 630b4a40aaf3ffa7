#include "htfm/base/torch_reason.h"

namespace htfm {

std::string torch_reason(const std::exception& error) {
  std::string text = error.what();
  text.resize(std::min(text.find("\nException raised from "), text.size()));
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (text.find_first_not_of(" \t\r~^", at) < end) {
      const std::string next = text.substr(at, end - at);
      if (next.starts_with("RuntimeError: ") || line.empty()) line = next;
    }
    at = end + 1;
  }
  return line.empty() ? "no reason given" : line;
}

}  // namespace htfm
