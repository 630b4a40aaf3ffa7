#include "htfm/io/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "htfm/base/error.h"
#include "htfm/base/split.h"
#include "htfm/io/column_choice.h"
#include "htfm/io/csv_cell.h"
#include "htfm/io/day_order.h"
#include "htfm/io/file.h"
#include "htfm/io/growing_numbers.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr size_t kLongestRow = size_t{64} << 20;  // bytes: what a quote that is not closed may swallow

bool is_blank(char c, char separator) { return (c == ' ' || c == '\t') && c != separator; }

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& path, const ColumnChoice& choice, const ReadRules& rules)
      : rest_(text), path_(path), choice_(choice), rules_(rules) {}
  CsvParser(TextSource refill, const std::string& path, const ColumnChoice& choice, const ReadRules& rules)
      : refill_(std::move(refill)), path_(path), choice_(choice), rules_(rules) {
    while (rest_.size() < 3 && more()) {
    }
  }

  Table parse() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    if (rest_.starts_with("\xFF\xFE") || rest_.starts_with("\xFE\xFF"))
      throw InputError("[csv] {}: expected text in UTF-8, got UTF-16 (save it as CSV UTF-8)", path_);
    if (rest_.substr(0, 2).find('\0') != std::string_view::npos)
      throw InputError("[csv] {}: expected text in UTF-8, got bytes of value 0 (UTF-16? save it as CSV UTF-8)", path_);
    if (only_blanks_left()) throw InputError("[csv] {}: expected a table of numbers, got an empty file", path_);
    take_separator_line();
    read_first_row();
    if (only_blanks_left()) throw InputError("[csv] {}: expected rows of numbers, got only a header", path_);

    const auto values = std::make_shared<GrowingNumbers>();
    const int64_t chosen = static_cast<int64_t>(positions_.size());
    std::vector<double> row(columns_);
    while (!only_blanks_left()) {
      read_row(next_line(), row.data());
      for (const int64_t position : positions_) values->push(row[position]);
    }
    Table table;
    for (const int64_t position : positions_) {
      if (!names_.empty()) table.names.push_back(names_[position]);
    }
    table.values = GrowingNumbers::tensor(values, static_cast<int64_t>(values->size()) / chosen, chosen);
    table.separator = separator_;
    if (rules_.texts)
      for (const int64_t position : positions_) table.texts.push_back(texts_[position].take());
    if (date_column_ >= 0) table.order = days_.order(), table.order_column = names_.empty() ? "" : names_[date_column_];
    return table;
  }

 private:
  /// Puts more of the text behind what is left of it.
  bool more() {
    if (!refill_) return false;
    if (rest_.size() >= kLongestRow)
      throw InputError(
          "[csv] {}: row {}: expected a row of less than {} MiB, got a larger one (a quote that is not closed?)", path_,
          std::max<int64_t>(line_, 1), kLongestRow >> 20);
    std::string next(rest_);
    const bool got = refill_(next);
    if (!got) refill_ = nullptr;
    buffer_.swap(next);
    rest_ = buffer_;
    return got;
  }

  /// Whether nothing but empty lines follows.
  bool only_blanks_left() {
    do {
      if (rest_.find_first_not_of(" \t\r\n") != std::string_view::npos) return false;
    } while (more());
    return true;
  }

  std::string_view next_line() {
    line_ += 1 + more_lines_;
    more_lines_ = 0;
    size_t size = line_end(0);
    while (size == rest_.size() && more()) size = line_end(size);
    // A cell in quotes may go on over the end of the line.
    if (std::memchr(rest_.data(), '"', size)) {
      bool inside = false, cell_begins = true;
      for (size_t from = 0;;) {
        for (; from < size; ++from) {
          const char c = rest_[from];
          if (c == '"' && (inside || cell_begins)) {
            inside = !inside;
            if (!inside && from + 1 < size && rest_[from + 1] == '"') inside = true, ++from;
          }
          cell_begins = !inside && (c == separator_ || (cell_begins && is_blank(c, separator_)));
        }
        if (!inside || size == rest_.size()) break;
        size = line_end(size + 1);
        while (size == rest_.size() && more()) size = line_end(size);
        ++more_lines_;
      }
    }
    std::string_view line = rest_.substr(0, size);
    rest_.remove_prefix(std::min(size + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  size_t line_end(size_t from) const {
    const void* newline = std::memchr(rest_.data() + from, '\n', rest_.size() - from);
    return newline ? static_cast<size_t>(static_cast<const char*>(newline) - rest_.data()) : rest_.size();
  }

  std::string column_text(int64_t column) const {
    const bool named = column < static_cast<int64_t>(names_.size()) && !names_[column].empty();
    return named ? fmt::format("column {} ({})", column + 1, printable(names_[column]))
                 : fmt::format("column {}", column + 1);
  }

  /// The cell that begins at `at`, without its quotes; `at` moves to the separator after it, or to the end.
  std::string cell(std::string_view line, size_t& at, int64_t column) const {
    size_t begin = at;
    while (begin < line.size() && is_blank(line[begin], separator_)) ++begin;
    if (begin == line.size() || line[begin] != '"') {
      const size_t from = at;
      at = std::min(line.find(separator_, from), line.size());
      return std::string(trimmed(line.substr(from, at - from)));
    }
    std::string text;
    for (size_t i = begin + 1; i < line.size(); ++i) {
      if (line[i] != '"') {
        text += line[i];
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        text += line[i++];
      } else {
        at = i + 1;
        while (at < line.size() && is_blank(line[at], separator_)) ++at;
        if (at < line.size() && line[at] != separator_) {
          throw InputError("[csv] {}: row {}, {}: expected a separator after the closing quote, got {}", path_, line_,
                           column_text(column), in_quotes(line.substr(at)));
        }
        return text;
      }
    }
    throw InputError("[csv] {}: row {}, {}: expected a closing quote, got the end of the line", path_, line_,
                     column_text(column));
  }

  std::vector<std::string> cells(std::string_view line) const {
    std::vector<std::string> out;
    for (size_t at = 0;; ++at) {
      out.push_back(cell(line, at, static_cast<int64_t>(out.size())));
      if (at >= line.size()) return out;
    }
  }

  /// "sep=;" in the first line, as Excel writes and reads it.
  void take_separator_line() {
    const std::string_view word = "sep=";
    while (rest_.size() < word.size() + 3 && more()) {
    }
    if (!rest_.starts_with(word) || rest_.size() < word.size() + 2) return;
    const char mark = rest_[word.size()], after = rest_[word.size() + 1];
    if (mark == '\r' || mark == '\n' || (after != '\r' && after != '\n')) return;
    next_line();
    separator_ = mark, separator_named_ = true;
  }

  /// By what the first row has outside its quotes.
  void find_separator() {
    bool inside = false, cell_begins = true, semicolon = false, tab = false, comma = false, bar = false;
    for (size_t i = 0; i < rest_.size() || more(); ++i) {
      const char c = rest_[i];
      if (c == '\n' && !inside) break;
      if (c == '"' && (inside || cell_begins)) inside = !inside;
      semicolon = semicolon || (!inside && c == ';');
      tab = tab || (!inside && c == '\t');
      comma = comma || (!inside && c == ',');
      bar = bar || (!inside && c == '|');
      cell_begins = !inside && (c == ',' || c == ';' || c == '\t' || c == '|' || (cell_begins && c == ' '));
    }
    if (!separator_named_) separator_ = tab ? '\t' : semicolon ? ';' : bar && !comma ? '|' : ',';
  }

  void read_first_row() {
    const int64_t before = line_;
    find_separator();
    const std::string_view line = next_line();
    if (const size_t end = line.find('\r'); end != std::string_view::npos && line.find('"') > end)
      throw InputError(
          "[csv] {}: expected lines that end with a line feed, got carriage returns alone (save the file with the line "
          "ends of Windows or Unix)",
          path_);
    const std::vector<std::string> first = cells(line);
    columns_ = static_cast<int64_t>(first.size());
    texts_.resize(first.size());
    if (rules_.header || (first_row_is_header(first) && !(rules_.texts && second_row_is_like(first))))
      for (const std::string& name : first) names_.push_back(shown_text(name));
    positions_ = choose_columns(choice_, names_, columns_, path_);
    wanted_.assign(columns_, false);
    for (const int64_t position : positions_) wanted_[position] = true;
    if (names_.empty()) {
      // The line is data: back to its beginning, which stands before what is left.
      rest_ = std::string_view(line.data(), static_cast<size_t>(rest_.data() + rest_.size() - line.data()));
      line_ = before, more_lines_ = 0;
    }
  }

  bool first_row_is_header(const std::vector<std::string>& first) const {
    for (const auto* words : {&choice_.columns, &choice_.drop}) {
      for (const std::string& word : *words) {
        if (!column_number(word, columns_)) return true;  // then it is a name, and names stand in a header
      }
    }
    const auto is_text = [](const std::string& text) { return !cell_number(text) && !is_missing_cell(text); };
    bool numbers = false;
    for (const int64_t position : choose_columns(choice_, {}, columns_, path_)) {
      // Text in columns that are not read says nothing: they may hold names in every row.
      if (is_text(first[position])) return true;
      numbers = numbers || cell_number(first[position]);
    }
    // A row of numbers with a gap is data with a missing value.
    return !numbers && std::any_of(first.begin(), first.end(), is_text);
  }

  /// Where texts may be data: whether the row after the first has texts and numbers in the same places, and numbers
  /// at all.
  bool second_row_is_like(const std::vector<std::string>& first) const {
    const size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    if (end == std::string_view::npos || std::count(line.begin(), line.end(), '"') % 2) return false;
    const std::vector<std::string> second = cells(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    if (second.size() != first.size()) return false;
    bool numbers = false;
    for (size_t k = 0; k < first.size(); ++k) {
      if (is_missing_cell(first[k]) || is_missing_cell(second[k])) continue;
      if (cell_number(first[k]).has_value() != cell_number(second[k]).has_value()) return false;
      numbers = numbers || cell_number(first[k]);
    }
    return numbers;
  }

  void read_row(std::string_view line, double* row) {
    if (rules_.lenient && columns_ > 1 && trimmed(line).empty()) {
      std::fill_n(row, columns_, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    size_t at = 0;
    for (int64_t column = 0;; ++column, ++at) {
      if (column >= columns_) throw_ragged(line);
      if (!wanted_[column]) {
        skip_cell(line, at, column);
      } else if (!read_plain(line, at, row[column])) {
        row[column] = read_careful(line, at, column);
      }
      if (at < line.size()) continue;
      if (column + 1 < columns_) throw_ragged(line);
      return;
    }
  }

  /// The usual cell: a finite number and nothing else. Leaves everything as it was where it is not one.
  bool read_plain(std::string_view line, size_t& at, double& value) const {
    size_t begin = at;
    while (begin < line.size() && is_blank(line[begin], separator_)) ++begin;
    const auto [end, error] = std::from_chars(line.data() + begin, line.data() + line.size(), value);
    if (error != std::errc() || !std::isfinite(value)) return false;
    size_t after = static_cast<size_t>(end - line.data());
    while (after < line.size() && is_blank(line[after], separator_)) ++after;
    if (after < line.size() && line[after] != separator_) return false;
    if (rules_.texts && is_padded_cell(line.substr(begin, static_cast<size_t>(end - line.data()) - begin)))
      return false;
    at = after;
    return true;
  }

  double read_careful(std::string_view line, size_t& at, int64_t column) {
    if (trimmed(line).empty() && columns_ > 1) throw_ragged(line);
    const std::string text = cell(line, at, column);
    const std::optional<double> value = cell_number(text);
    if (rules_.texts && is_padded_cell(text)) return texts_[column].add(text, line_);
    if (value && std::isfinite(*value)) return *value;
    std::string note;
    if (value && std::isinf(*value)) {
      throw InputError("[csv] {}: row {}, {}: expected a finite number, got {}", path_, line_, column_text(column),
                       in_quotes(text));
    }
    if (is_missing_cell(text)) {
      if (rules_.lenient) return std::numeric_limits<double>::quiet_NaN();
      note = " (a missing value)";
    } else if (rules_.texts) {
      return texts_[column].add(shown_text(text), line_);
    } else if (std::string point = text; std::count(text.begin(), text.end(), ',') == 1) {
      point[point.find(',')] = '.';
      if (cell_number(point)) note = " (a decimal comma? numbers are read with a point)";
    } else if (is_row_of_numbers(text)) {
      note = " (several numbers? columns are separated by commas, semicolons, tabs or |)";
    }
    if (note.empty() && !rules_.advice.empty())
      note = fmt::format(" ({}; {})", is_date_cell(text) ? "a date" : "text", rules_.advice);
    throw InputError("[csv] {}: row {}, {}: expected a number, got {}{}", path_, line_, column_text(column),
                     in_quotes(text), note);
  }

  void skip_cell(std::string_view line, size_t& at, int64_t column) {
    size_t begin = at;
    while (begin < line.size() && is_blank(line[begin], separator_)) ++begin;
    if (begin < line.size() && line[begin] == '"') {
      const std::string text = cell(line, at, column);
      if (rules_.find_order) look_at_day(text, column);
    } else {
      at = std::min(line.find(separator_, at), line.size());
      if (rules_.find_order) look_at_day(line.substr(begin, at - std::min(begin, at)), column);
    }
  }

  /// The first column of dates that is not read says how the rows follow each other.
  void look_at_day(std::string_view text, int64_t column) {
    if (date_column_ < 0 && is_date_cell(text)) date_column_ = column;
    if (column == date_column_ && is_date_cell(text)) days_.add(text);
  }

  [[noreturn]] void throw_ragged(std::string_view line) const {
    if (trimmed(line).empty())
      throw InputError("[csv] {}: row {}: expected {} columns, got an empty line", path_, line_, columns_);
    const auto count = static_cast<int64_t>(cells(line).size());
    const char* advice = columns_ == 1
                             ? " (the names of the columns in the first row, without titles or comments above)"
                         : count > columns_ ? " (a cell that holds a separator needs quotes)"
                                            : " (a note or a total? leave the row out)";
    throw InputError("[csv] {}: row {}: expected {} columns, got {}{}", path_, line_, columns_, count, advice);
  }

  TextSource refill_;
  std::string buffer_;     // what `rest_` lies in, where the text comes in parts
  std::string_view rest_;  // not yet read
  int64_t date_column_ = -1;
  DayOrder days_;
  const std::string& path_;
  const ColumnChoice& choice_;
  const ReadRules& rules_;
  int64_t line_ = 0;
  int64_t more_lines_ = 0;  // that the last row took beyond its first
  char separator_ = ',';
  bool separator_named_ = false;
  int64_t columns_ = 0;
  std::vector<std::string> names_;
  std::vector<int64_t> positions_;
  std::vector<bool> wanted_;
  std::vector<TextColumn> texts_;  // by column of the file, where they pass
};

}  // namespace

Table parse_csv(std::string_view text, const std::string& path, const ColumnChoice& choice, const ReadRules& rules) {
  return CsvParser(text, path, choice, rules).parse();
}

Table read_csv(const TextSource& source, const std::string& path, const ColumnChoice& choice, const ReadRules& rules) {
  return CsvParser(source, path, choice, rules).parse();
}

Table read_csv(const std::string& path, const ColumnChoice& choice, const ReadRules& rules) {
  const SequentialFile file(path);
  return read_csv([&](std::string& buffer) { return file.append_to(buffer, size_t{4} << 20); }, path, choice, rules);
}

}  // namespace htfm
