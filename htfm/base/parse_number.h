// Numbers in texts that a user wrote: options, keys, names of files.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The number that a text is from its first letter to its last; none where it is not one.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc{} && end == last ? std::optional(value) : std::nullopt;
}

/// The same of one that is neither infinite nor NaN.
inline std::optional<double> parse_finite(std::string_view text) {
  const std::optional<double> value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace htfm
