// Numbers as people write them: with a decimal comma, thousands separators, a currency sign, percent, or a loss in
// parentheses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace htfm {

/// A number that was read from a text, and what stood in it.
struct NumberText {
  double value = 0;
  bool decimals = false, thousands = false, percent = false, parentheses = false, minus_after = false;
  std::string currency = {};  ///< the sign or the code
};

/// Reads a text with this mark of decimals, '.' or ','. Thousands may be kept apart by the other mark, a blank, an
/// apostrophe, in groups of three. The minus may stand behind. Percent stay percent: "12 %" is 12. Nothing where the
/// text is no number.
std::optional<NumberText> read_number_text(std::string_view text, char decimal);

}  // namespace htfm
