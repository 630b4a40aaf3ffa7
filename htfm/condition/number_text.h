// Numbers that name categories.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace htfm {

/// The number that a text is as a whole; none where it is not one, or not finite.
inline std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace htfm
