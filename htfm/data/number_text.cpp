#include "htfm/data/number_text.h"

#include <array>
#include <cmath>

#include "htfm/base/parse_number.h"

namespace htfm {

namespace {

constexpr std::array<std::string_view, 13> kCurrencies = {"$",   "€",   "£",   "¥",   "₹",   "USD", "EUR",
                                                          "GBP", "CHF", "JPY", "SEK", "Fr.", "kr"};
constexpr std::array<std::string_view, 4> kBlanks = {" ", "\t", "\xC2\xA0", "\xE2\x80\xAF"};  // plain, no-break, narrow

bool take_front(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool take_back(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  text.remove_suffix(word.size());
  return true;
}

void trim_blanks(std::string_view& text) {
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view blank : kBlanks) more = take_front(text, blank) || take_back(text, blank) || more;
  }
}

bool take_currency(std::string_view& text, std::string& found) {
  for (const std::string_view sign : kCurrencies) {
    if (!take_front(text, sign) && !take_back(text, sign)) continue;
    found = sign;
    return true;
  }
  return false;
}

bool take_sign(std::string_view& text, bool& negative) {
  if (take_front(text, "-") || take_front(text, "\xE2\x88\x92")) return negative = true;
  return take_front(text, "+");
}

// Digits in groups of three after the first, as one run of digits; false where they are no such thing.
bool join_groups(std::string_view text, std::string_view mark, std::string& digits) {
  bool first = true;
  for (;;) {
    const size_t end = std::min(text.find(mark), text.size());
    const std::string_view group = text.substr(0, end);
    const bool right = first ? !group.empty() && group.size() <= 3 : group.size() == 3;
    if (!right || group.find_first_not_of("0123456789") != std::string_view::npos) return false;
    digits += group;
    if (end == text.size()) return true;
    text.remove_prefix(end + mark.size()), first = false;
  }
}

}  // namespace

std::optional<NumberText> read_number_text(std::string_view text, char decimal) {
  NumberText out;
  trim_blanks(text);
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {
    text = text.substr(1, text.size() - 2), out.parentheses = true;
    trim_blanks(text);
  }
  bool negative = false;
  bool has_sign = take_sign(text, negative);
  trim_blanks(text);
  if (take_currency(text, out.currency)) trim_blanks(text);
  if (!has_sign) has_sign = take_sign(text, negative);
  if (take_back(text, "%")) out.percent = true, trim_blanks(text);
  if (!has_sign && text.size() > 1 && take_back(text, "-")) negative = out.minus_after = true;
  if (text.empty() || (text[0] != decimal && (text[0] < '0' || text[0] > '9'))) return std::nullopt;
  const size_t mark = text.find(decimal);
  const std::string_view whole = text.substr(0, mark);
  std::string plain;
  if (whole.find_first_not_of("0123456789") == std::string_view::npos) {
    plain = whole;
  } else {
    for (const std::string_view between : {std::string_view(decimal == '.' ? "," : "."), std::string_view(" "),
                                           std::string_view("'"), kBlanks[2], kBlanks[3], std::string_view("’")}) {
      plain.clear();
      out.thousands = whole.find(between) != std::string_view::npos && join_groups(whole, between, plain);
      if (out.thousands) break;
    }
    if (!out.thousands && mark != std::string_view::npos) return std::nullopt;
    if (!out.thousands) plain = whole;  // an exponent, perhaps
  }
  if (mark != std::string_view::npos) {
    out.decimals = true;
    plain += '.';
    plain += text.substr(mark + 1);
  }
  const std::optional<double> value = parse_finite(plain);
  if (!value) return std::nullopt;
  out.value = *value;
  if (negative != out.parentheses) out.value = -out.value;
  return out;
}

}  // namespace htfm
