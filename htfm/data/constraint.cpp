#include "htfm/data/constraint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/base/split.h"
#include "htfm/io/text.h"

namespace htfm {

namespace {

// One side of a constraint: columns with their signs, and a constant.
struct ConstraintSide {
  std::vector<Constraint::Term> terms;
  double constant = 0;
};

class ConstraintReader {
 public:
  ConstraintReader(const std::string& text, const std::vector<std::string>& names) : text_(text), names_(names) {}

  Constraint read() {
    const ConstraintSide left = side();
    const std::string sense = take_sense();
    const ConstraintSide right = side();
    if (at_ < text_.size()) refuse("one comparison", text_.substr(at_));
    Constraint out;
    out.text = std::string(trimmed(text_)), out.strict = sense == "<" || sense == ">";
    const bool turned = left.terms.size() != 1 || left.constant != 0 || left.terms[0].sign < 0;
    const ConstraintSide& alone = turned ? right : left;
    const ConstraintSide& sum = turned ? left : right;
    if (alone.terms.size() != 1 || alone.constant != 0 || alone.terms[0].sign < 0)
      refuse("a column alone on one side", text_);
    out.column = alone.terms[0].column, out.terms = sum.terms, out.constant = sum.constant;
    const bool below = (sense[0] == '<') != turned;
    out.sense = sense[0] == '=' ? Constraint::Sense::equal
                : below         ? Constraint::Sense::at_most
                                : Constraint::Sense::at_least;
    for (const Constraint::Term& t : out.terms)
      if (t.column == out.column) refuse("different columns on both sides", text_);
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const {
    throw InputError(
        "[constraint] {}: expected {}, got {} (as in \"paid <= incurred\" or \"total = net + tax\"; names with blanks "
        "in double quotes)",
        in_quotes(text_), expected, found.empty() ? "nothing" : in_quotes(found));
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  std::string take_sense() {
    skip_blanks();
    for (const char* sense : {"<=", ">=", "==", "<", ">", "="})
      if (text_.compare(at_, std::string(sense).size(), sense) == 0) {
        at_ += std::string(sense).size();
        return sense;
      }
    refuse("<=, >=, <, > or =", text_.substr(at_));
  }
  ConstraintSide side() {
    ConstraintSide out;
    for (bool first = true;; first = false) {
      skip_blanks();
      double sign = 1;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) {
        sign = text_[at_++] == '-' ? -1 : 1;
      } else if (!first) {
        return out;
      }
      add_term(sign, out);
    }
  }
  void add_term(double sign, ConstraintSide& to) {
    skip_blanks();
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    const size_t begin = quoted ? at_ + 1 : at_;
    size_t end = quoted ? text_.find('"', begin) : std::min(text_.find_first_of("<>=+-", begin), text_.size());
    if (end == std::string::npos) refuse("a closing quote", text_.substr(at_));
    std::string word = text_.substr(begin, end - begin);
    if (!quoted) {
      // A name may have a minus inside: the longest one that is known goes before a difference.
      for (size_t longer = text_.size(); longer > end; --longer)
        if (const std::string name(trimmed(text_.substr(begin, longer - begin))); position(name)) {
          end = longer, word = name;
          break;
        }
      word = std::string(trimmed(word));
    }
    at_ = quoted ? end + 1 : end;
    if (const auto column = position(word)) {
      to.terms.push_back({*column, sign});
      return;
    }
    const std::optional<double> value = parse_number<double>(word);
    if (quoted || !value) refuse(fmt::format("a number or one of the columns {}", fmt::join(names_, ", ")), word);
    to.constant += sign * *value;
  }
  std::optional<int64_t> position(const std::string& word) const {
    const auto found = std::find(names_.begin(), names_.end(), word);
    if (found == names_.end()) return std::nullopt;
    return found - names_.begin();
  }

  const std::string& text_;
  const std::vector<std::string>& names_;
  size_t at_ = 0;
};

}  // namespace

std::vector<Constraint> parse_constraints(const std::string& text, const std::vector<std::string>& names) {
  std::vector<Constraint> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    const std::string one = text.substr(at, end - at);
    if (one.find_first_not_of(" \t") != std::string::npos) out.push_back(ConstraintReader(one, names).read());
    at = end + 1;
  }
  return out;
}

}  // namespace htfm
