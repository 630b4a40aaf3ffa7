// Units of variables, as files write them.
#pragma once

#include <string>

namespace htfm {

/// A unit without the signs of powers and products: "kg m**-2" and "kg m-2" are one.
inline std::string bare_unit(std::string text) {
  std::erase_if(text, [](char c) { return c == '*' || c == '^' || c == ' ' || c == '.'; });
  return text;
}

inline bool is_same_unit(const std::string& a, const std::string& b) { return bare_unit(a) == bare_unit(b); }

}  // namespace htfm
