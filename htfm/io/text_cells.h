// Texts among the numbers of a table: a cell that holds one is a NaN that carries the text's place in a list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// A text that stands in a column, where it first does (the file's line, from 1), and how often.
struct TextCell {
  std::string text;
  int64_t line = 0, count = 0;
};

/// The NaN that stands for text k of its column; and back, -1 for a number or a value that is missing.
double text_value(int64_t k);
int64_t text_place(double value);

/// The different texts of a column, in the order in which they come.
class HTFM_PUBLIC TextColumn {
 public:
  /// The value of a cell with this text.
  double add(std::string text, int64_t line);
  std::vector<TextCell> take() { return std::move(cells_); }

 private:
  std::vector<TextCell> cells_;
  std::unordered_map<std::string, int64_t> places_;
};

}  // namespace htfm
