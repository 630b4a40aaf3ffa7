// Reads the text of an expression, with the place of what cannot be read.
#pragma once

#include <string>
#include <string_view>

#include "htfm/rare/expression.h"

namespace htfm {

/// Recursive descent: or, and, not, comparisons, sums, products, signs, and what stands alone.
class ExpressionReader {
 public:
  ExpressionReader(Expression& out, const std::string& text, const std::string& where)
      : out_(out), text_(text), where_(where) {}
  void read();

 private:
  using Kind = Expression::Kind;
  enum class Type { end, number, name, text, symbol };
  struct Token {
    Type type = Type::end;
    size_t place = 0, length = 0;
    std::string text = {};
    double value = 0;
    bool quoted = false;  // a name in brackets
  };

  void advance();
  bool word(std::string_view word) const;  // whether the next token is this one
  bool accept(std::string_view word);      // the same, and takes it
  void expect(std::string_view symbol);
  [[noreturn]] void refuse(const std::string& expected, const Token& found) const;
  [[noreturn]] void refuse(const std::string& expected, size_t place, const std::string& found) const;

  int either();
  int both();
  int negation();
  int comparison();
  int sum();
  int product();
  int sign();
  int alone();
  int named(const Token& name);
  int called(const Token& name);
  int pixel(const Token& name);
  int64_t whole_number(const char* what, int64_t least, int64_t most);
  int column_of(const Token& name);

  int add(Kind kind, size_t place, int left = -1, int right = -1);
  int number_node(int node) const;  // InputError unless it is a number
  // The same where a text may stand, on one side of a comparison; and what it stands for.
  int operand_node(int node) const;
  void resolve_text(int text, int column, Kind comparison);
  int condition_node(int node) const;  // or a condition

  Expression& out_;
  const std::string& text_;
  const std::string& where_;
  size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string> texts_;  // Node::column of a text is its place here
  Token next_;
};

}  // namespace htfm
