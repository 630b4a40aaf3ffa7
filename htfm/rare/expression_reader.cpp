#include "htfm/rare/expression_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/nearest.h"
#include "htfm/data/dates.h"

namespace htfm {

namespace {

constexpr int kDeepest = 200;  // parentheses and signs inside each other

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }
bool in_name(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::array<std::string_view, 3> kWords{"and", "or", "not"};

}  // namespace

void ExpressionReader::refuse(const std::string& expected, size_t place, const std::string& found) const {
  throw InputError("[{}] expected {} at character {} of '{}', got {}", where_, expected, place + 1, text_, found);
}

void ExpressionReader::refuse(const std::string& expected, const Token& found) const {
  refuse(expected, found.place, found.type == Type::end ? "its end" : "'" + found.text + "'");
}

void ExpressionReader::advance() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  next_ = {.type = Type::end, .place = at_};
  if (at_ == text_.size()) return;
  const char c = text_[at_];
  if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') {
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), next_.value);
    if (error != std::errc{}) refuse("a number", at_, fmt::format("'{}'", c));
    next_.type = Type::number, next_.length = static_cast<size_t>(end - text_.data()) - at_;
    if (const size_t after = at_ + next_.length; after < text_.size() && in_name(text_[after]))
      refuse("an operator", after, fmt::format("'{}'", text_[after]));
  } else if (begins_name(c)) {
    while (at_ + next_.length < text_.size() && in_name(text_[at_ + next_.length])) ++next_.length;
    next_.type = Type::name;
  } else if (c == '\'' || c == '"') {
    const size_t end = text_.find(c, at_ + 1);
    if (end == std::string::npos) refuse(fmt::format("a {} after the text", c), text_.size(), "its end");
    next_.type = Type::text, next_.quoted = true, next_.length = end + 1 - at_;
    next_.text = text_.substr(at_ + 1, end - at_ - 1);
  } else if (c == '[') {
    const size_t end = text_.find(']', at_);
    if (end == std::string::npos) refuse("a ']' after the name", text_.size(), "its end");
    next_.type = Type::name, next_.quoted = true, next_.length = end + 1 - at_;
    next_.text = text_.substr(at_ + 1, end - at_ - 1);
  } else {
    const std::string_view rest = std::string_view(text_).substr(at_);
    next_.type = Type::symbol, next_.length = 1;
    for (const std::string_view two : {">=", "<=", "==", "!="})
      if (rest.starts_with(two)) next_.length = 2;
    if (next_.length == 1 && c == '=') refuse("== for a comparison", at_, "'='");
    if (next_.length == 1 && std::string_view("<>+-*/(),").find(c) == std::string_view::npos)
      refuse("a number, a column or an operator (and, or, not, > >= < <= == !=, + - * /)", at_, fmt::format("'{}'", c));
  }
  if (!next_.quoted) next_.text = text_.substr(at_, next_.length);
  at_ += next_.length;
}

bool ExpressionReader::word(std::string_view word) const {
  return (next_.type == Type::name || next_.type == Type::symbol) && !next_.quoted && next_.text == word;
}

bool ExpressionReader::accept(std::string_view wanted) {
  if (!word(wanted)) return false;
  advance();
  return true;
}

void ExpressionReader::expect(std::string_view symbol) {
  if (!accept(symbol)) refuse(fmt::format("'{}'", symbol), next_);
}

int ExpressionReader::add(Kind kind, size_t place, int left, int right) {
  out_.nodes_.push_back({.kind = kind, .left = left, .right = right, .place = place});
  return static_cast<int>(out_.nodes_.size()) - 1;
}

int ExpressionReader::operand_node(int node) const {
  return out_.nodes_[static_cast<size_t>(node)].kind == Kind::text ? node : number_node(node);
}

// Categories have codes, dates days or seconds.
void ExpressionReader::resolve_text(int text, int column, Kind comparison) {
  Expression::Node& t = out_.nodes_[static_cast<size_t>(text)];
  if (t.kind != Kind::text) return;
  const std::string word = texts_[static_cast<size_t>(t.column)];
  const Expression::Node& other = out_.nodes_[static_cast<size_t>(column)];
  const std::vector<TableColumn>& kinds = out_.names_.kinds;
  const TableColumn* kind = other.kind == Kind::column && other.column < static_cast<int64_t>(kinds.size())
                                ? &kinds[static_cast<size_t>(other.column)]
                                : nullptr;
  if (!kind || kind->kind == ColumnKind::number)
    refuse("a number, or a column of categories or dates to compare a text with,", t.place, "'" + word + "'");
  t.kind = Kind::constant;
  if (kind->kind == ColumnKind::date) {
    const bool time = DateForm{kind->date_form}.has_time();
    std::vector<DateForm> forms = date_forms();
    forms.insert(forms.begin(), DateForm{kind->date_form});
    for (const DateForm& form : forms)
      if (const std::optional<double> value = form.parse(word)) {
        t.value = *value * (time && !form.has_time() ? 86400.0 : !time && form.has_time() ? 1 / 86400.0 : 1.0);
        return;
      }
    refuse("a date, as in " + kind->text(0), t.place, "'" + word + "'");
  }
  const auto found = std::find(kind->categories.begin(), kind->categories.end(), word);
  if (found == kind->categories.end()) {
    const std::string near = nearest_name(word, kind->categories, 2);
    refuse("a category of the column", t.place,
           fmt::format("'{}'{}", word, near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
  }
  if (!kind->ordered && comparison != Kind::equal && comparison != Kind::unequal)
    refuse("== or != for categories without an order", t.place, "'" + word + "'");
  t.value = static_cast<double>(found - kind->categories.begin());
}

int ExpressionReader::number_node(int node) const {
  const Expression::Node& n = out_.nodes_[static_cast<size_t>(node)];
  if (n.kind == Kind::text) refuse("a number", n.place, "a text");
  if (Expression::is_condition(n.kind)) refuse("a number", n.place, "a condition");
  return node;
}

int ExpressionReader::condition_node(int node) const {
  const Expression::Node& n = out_.nodes_[static_cast<size_t>(node)];
  if (!Expression::is_condition(n.kind))
    refuse("a comparison, such as a > 1,", n.place, n.kind == Kind::text ? "a text" : "a number");
  return node;
}

void ExpressionReader::read() {
  advance();
  out_.root_ = either();
  if (next_.type != Type::end) refuse("an operator or the end", next_);
  if (out_.nodes_[static_cast<size_t>(out_.root_)].kind == Kind::text) number_node(out_.root_);
}

int ExpressionReader::either() {
  int left = both();
  while (word("or")) {
    const size_t place = next_.place;
    advance();
    left = add(Kind::either, place, condition_node(left), condition_node(both()));
  }
  return left;
}

int ExpressionReader::both() {
  int left = negation();
  while (word("and")) {
    const size_t place = next_.place;
    advance();
    left = add(Kind::both, place, condition_node(left), condition_node(negation()));
  }
  return left;
}

int ExpressionReader::negation() {
  if (!word("not")) return comparison();
  if (++depth_ > kDeepest) refuse("less nesting", next_);
  const size_t place = next_.place;
  advance();
  const int node = add(Kind::negation, place, condition_node(negation()));
  --depth_;
  return node;
}

// a < b < c says that both hold.
int ExpressionReader::comparison() {
  static constexpr std::array<std::pair<std::string_view, Kind>, 6> kinds{{{">", Kind::greater},
                                                                           {">=", Kind::greater_equal},
                                                                           {"<", Kind::less},
                                                                           {"<=", Kind::less_equal},
                                                                           {"==", Kind::equal},
                                                                           {"!=", Kind::unequal}}};
  int left = sum(), all = -1;
  for (;;) {
    const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return word(k.first); });
    if (found == kinds.end()) return all < 0 ? left : all;
    const size_t place = next_.place;
    advance();
    operand_node(left);
    const int right = operand_node(sum()), compared = add(found->second, place, left, right);
    resolve_text(left, right, found->second);
    resolve_text(right, left, found->second);
    all = all < 0 ? compared : add(Kind::both, place, all, compared);
    left = right;
  }
}

int ExpressionReader::sum() {
  int left = product();
  while (word("+") || word("-")) {
    const Token sign = next_;
    advance();
    number_node(left);
    left = add(sign.text == "+" ? Kind::add : Kind::subtract, sign.place, left, number_node(product()));
  }
  return left;
}

int ExpressionReader::product() {
  int left = sign();
  while (word("*") || word("/")) {
    const Token symbol = next_;
    advance();
    number_node(left);
    left = add(symbol.text == "*" ? Kind::multiply : Kind::divide, symbol.place, left, number_node(sign()));
  }
  return left;
}

int ExpressionReader::sign() {
  if (!word("-") && !word("+")) return alone();
  if (++depth_ > kDeepest) refuse("less nesting", next_);
  const Token symbol = next_;
  advance();
  const int inner = number_node(sign());
  --depth_;
  return symbol.text == "-" ? add(Kind::negate, symbol.place, inner) : inner;
}

int ExpressionReader::alone() {
  const Token token = next_;
  if (token.type == Type::text) {
    advance();
    const int node = add(Kind::text, token.place);
    out_.nodes_.back().column = static_cast<int64_t>(texts_.size());
    texts_.push_back(token.text);
    return node;
  }
  if (token.type == Type::number) {
    advance();
    const int node = add(Kind::constant, token.place);
    out_.nodes_.back().value = token.value;
    return node;
  }
  if (token.type == Type::symbol && token.text == "(") {
    if (++depth_ > kDeepest) refuse("less nesting", token);
    advance();
    const int node = either();
    expect(")");
    --depth_;
    return node;
  }
  const bool reserved = !token.quoted && std::find(kWords.begin(), kWords.end(), token.text) != kWords.end();
  if (token.type != Type::name || reserved) refuse("a number or a column", token);
  advance();
  return !token.quoted && word("(") ? called(token) : named(token);
}

int ExpressionReader::column_of(const Token& name) {
  const std::vector<std::string>& columns = out_.names_.columns;
  const auto found = std::find(columns.begin(), columns.end(), name.text);
  if (found == columns.end()) return -1;
  if (std::find(found + 1, columns.end(), name.text) != columns.end())
    refuse("a name that one column has, or column(NUMBER),", name.place,
           fmt::format("'{}', which several have", name.text));
  const int node = add(Kind::column, name.place);
  out_.nodes_.back().column = found - columns.begin();
  return node;
}

// A column first, so that one called "size" or "max" is meant.
int ExpressionReader::named(const Token& name) {
  if (const int column = column_of(name); column >= 0) return column;
  if (!name.quoted) {
    if (name.text == "size") {
      out_.uses_size_ = true;
      return add(Kind::size, name.place);
    }
    if (out_.names_.image) {
      if (name.text == "max") return add(Kind::field_max, name.place);
      if (name.text == "min") return add(Kind::field_min, name.place);
      if (name.text == "mean") return add(Kind::field_mean, name.place);
    }
  }
  std::vector<std::string> known = out_.names_.columns;
  known.push_back("size");
  const std::string near = nearest_name(name.text, known, 2);
  const std::string what = out_.names_.image ? "max, min, mean, pixel(i, j) or size"
                           : out_.names_.columns.empty()
                               ? fmt::format("column(1) to column({}) or size", out_.names_.count)
                               : "a column or size";
  refuse(what, name.place,
         fmt::format("'{}'{}", name.text, near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

int64_t ExpressionReader::whole_number(const char* what, int64_t least, int64_t most) {
  const Token token = next_;
  const bool whole = token.type == Type::number && token.value == std::floor(token.value) &&
                     token.value >= static_cast<double>(least) && token.value <= static_cast<double>(most);
  if (!whole) refuse(fmt::format("{} from {} to {}", what, least, most), token);
  advance();
  return static_cast<int64_t>(token.value);
}

int ExpressionReader::pixel(const Token& name) {
  const ImageShape& s = *out_.names_.image;
  int64_t channel = 0;
  if (s.channels > 1) {
    channel = whole_number("the number of a channel", 1, s.channels) - 1;
    expect(",");
  }
  const int64_t row = whole_number("a row", 0, s.height - 1);
  expect(",");
  const int64_t column = whole_number("a column", 0, s.width - 1);
  expect(")");
  const int node = add(Kind::column, name.place);
  out_.nodes_.back().column = (channel * s.height + row) * s.width + column;
  return node;
}

int ExpressionReader::called(const Token& name) {
  advance();  // the parenthesis
  if (++depth_ > kDeepest) refuse("less nesting", name);
  int node = -1;
  if (name.text == "abs") {
    node = add(Kind::absolute, name.place, number_node(either()));
    expect(")");
  } else if (name.text == "max" || name.text == "min") {
    node = number_node(either());
    while (accept(","))
      node = add(name.text == "max" ? Kind::most : Kind::least, name.place, node, number_node(either()));
    expect(")");
  } else if (name.text == "column" && !out_.names_.image) {
    const int64_t number = whole_number("the number of a column", 1, out_.names_.count);
    expect(")");
    node = add(Kind::column, name.place);
    out_.nodes_.back().column = number - 1;
  } else if (name.text == "pixel" && out_.names_.image) {
    node = pixel(name);
  } else {
    refuse(out_.names_.image ? "abs, min, max or pixel in front of a '('" : "abs, min, max or column in front of a '('",
           name);
  }
  --depth_;
  return node;
}

}  // namespace htfm
