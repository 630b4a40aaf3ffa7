#include "htfm/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace htfm::report {
namespace {

constexpr std::string_view kMinus = "\u2212";
constexpr std::string_view kReplacement = "\uFFFD";

/// Length of the well-formed UTF-8 sequence at the front that XML allows, 0 where there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 ? (first == 0x7f ? 0 : 1) : (first == '\t' || first == '\n' || first == '\r');
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool excluded = (code >= 0x80 && code < 0xa0) || (code >= 0xd800 && code < 0xe000) ||
                        (code & 0xfffe) == 0xfffe || code > 0x10ffff;
  return overlong || excluded ? 0 : length;
}

/// Inserts commas between groups of three digits of the whole part, and puts a true minus sign.
std::string grouped(std::string_view digits) {
  std::string out;
  if (digits.starts_with('-')) {
    digits.remove_prefix(1);
    if (digits.find_first_not_of("0.") != std::string_view::npos) out = kMinus;
  }
  const size_t whole = std::min(digits.find('.'), digits.size());
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out.append(digits.substr(whole));
}

std::string without_trailing_zeros(std::string digits) {
  if (digits.find('.') == std::string::npos) return digits;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits;
}

std::string not_finite(double value) { return std::isnan(value) ? "–" : value > 0 ? "∞" : "−∞"; }

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length != 1) {
      out += length == 0 ? kReplacement : text.substr(0, length);
    } else {
      switch (text[0]) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        case '\r': break;
        default: out += text[0];
      }
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string element(std::string_view tag, std::string_view markup, std::string_view style) {
  if (style.empty()) return fmt::format("<{0}>{1}</{0}>", tag, markup);
  return fmt::format("<{0} class=\"{2}\">{1}</{0}>", tag, markup, style);
}

std::string power_of_ten(int exponent) {
  static constexpr std::string_view kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = "10";
  if (exponent < 0) out += "⁻";
  for (const char digit : std::to_string(std::abs(exponent))) out += kDigits[digit - '0'];
  return out;
}

std::string number(double value, int digits) {
  if (!std::isfinite(value)) return not_finite(value);
  if (value == 0) return "0";
  // The exponent is read off the rounded text, so that 9.9996 becomes 10 and not 10.00.
  const std::string scientific = fmt::format("{:.{}e}", value, std::max(digits, 1) - 1);
  const size_t split = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(split + 1));
  if (exponent >= -4 && exponent < 7)
    return grouped(without_trailing_zeros(fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent))));
  const std::string mantissa = grouped(without_trailing_zeros(scientific.substr(0, split)));
  if (mantissa == "1") return power_of_ten(exponent);
  if (mantissa == "−1") return std::string(kMinus).append(power_of_ten(exponent));
  return mantissa + "×" + power_of_ten(exponent);
}

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return not_finite(value);
  if (std::abs(value) >= 1e15) return number(value, decimals + 1);
  return grouped(fmt::format("{:.{}f}", value, std::max(decimals, 0)));
}

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {:02d} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02d} min", whole / 3600, whole % 3600 / 60);
}

std::string count(int64_t value) { return grouped(std::to_string(value)); }

std::string count(int64_t value, std::string_view singular) {
  return fmt::format("{} {}{}", count(value), singular, value == 1 ? "" : "s");
}

double text_width(std::string_view text, double font_size) {
  double ems = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
    if (std::string_view(" .,:;!'|ijlt()[]f-r").find(c) != std::string_view::npos)
      ems += 0.39;
    else if (std::string_view("mwMW@%").find(c) != std::string_view::npos)
      ems += 0.96;
    else if (c >= 'A' && c <= 'Z')
      ems += 0.73;
    else
      ems += 0.63;
  }
  return ems * font_size;
}

std::string shortened(std::string_view text, double font_size, double width) {
  if (text_width(text, font_size) <= width) return std::string(text);
  size_t end = 0;
  while (end < text.size()) {
    size_t next = end + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0) == 0x80) ++next;
    if (text_width(text.substr(0, next), font_size) + 0.9 * font_size > width) break;
    end = next;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace htfm::report
