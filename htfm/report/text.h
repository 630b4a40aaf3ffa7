// Text of reports: escaping for HTML and SVG, numbers as people read them, widths for layout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {
namespace report {

/// Text that is safe as content or as a quoted attribute of HTML, SVG and XML: always valid UTF-8 without control
/// characters.
std::string escape(std::string_view text);

/// <tag class="style">markup</tag>; the class is left out where it is empty.
std::string element(std::string_view tag, std::string_view markup, std::string_view style = "");

/// A number in about `digits` significant digits: "0.957", "24,000", "1.2×10⁻⁵", "−∞", "–" for nan.
std::string number(double value, int digits = 4);
/// A number with fixed decimals, grouped by thousands.
std::string fixed(double value, int decimals);
/// A whole number, grouped by thousands.
std::string count(int64_t value);
/// "1 point", "2,000 points".
std::string count(int64_t value, std::string_view singular);
/// "1 min 20 s".
std::string duration(double seconds);
/// 10 to a whole power, as "10⁻³".
std::string power_of_ten(int exponent);

/// Estimated width of a line of text in a sans-serif font; on the generous side, for no font is known when the page is
/// written.
double text_width(std::string_view text, double font_size);
/// The text, or its beginning and "…" where it is wider than `width`.
std::string shortened(std::string_view text, double font_size, double width);

}  // namespace report
}  // namespace htfm
