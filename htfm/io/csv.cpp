#include "htfm/io/csv.h"

#include <ATen/ops/from_blob.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

bool is_blank(char c, char separator) { return (c == ' ' || c == '\t') && c != separator; }

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// A number as the whole of a cell. Tiny numbers become zero or subnormal; infinite ones and "nan" are given as they
/// are.
std::optional<double> number(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.starts_with('+') && cell.size() > 1 && cell[1] != '-') cell.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (end != cell.data() + cell.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small? from_chars does not say, and plain strtod would read the comma of some locales.
    static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return ::strtod_l(std::string(cell).c_str(), nullptr, plain);
  }
  return value;
}

/// A word that stands for "no value" where numbers are expected.
bool is_missing(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.empty()) return true;
  for (const std::string_view word : {"NA", "N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "-", "?"}) {
    if (cell == word) return true;
  }
  const std::optional<double> value = number(cell);
  return value && !std::isfinite(*value);
}

/// Digits with the marks of a date or a time: 2020-01-31, 31.1.2020, 12:30:00.
bool is_date(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.empty() || cell[0] < '0' || cell[0] > '9' ||
      cell.find_first_not_of("0123456789-/.: TZ+") != std::string_view::npos)
    return false;
  return std::count_if(cell.begin(), cell.end(), [](char c) { return c == '-' || c == '/' || c == '.' || c == ':'; }) >=
         2;
}

/// Numbers with blanks between them.
bool is_row_of_numbers(std::string_view cell) {
  int64_t count = 0;
  for (cell = trimmed(cell); !cell.empty(); ++count) {
    const size_t end = std::min(cell.find_first_of(" \t"), cell.size());
    if (!number(cell.substr(0, end))) return false;
    cell = trimmed(cell.substr(end));
  }
  return count > 1;
}

/// A column's position from 0, given as a number from 1 to count.
std::optional<int64_t> column_number(const std::string& word, int64_t count) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 1 || value > count) return std::nullopt;
  return value - 1;
}

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& path, const ColumnChoice& choice, const ReadRules& rules)
      : rest_(text), path_(path), choice_(choice), rules_(rules) {}

  Table parse() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    if (rest_.starts_with("\xFF\xFE") || rest_.starts_with("\xFE\xFF"))
      throw InputError("[csv] {}: expected text in UTF-8, got UTF-16 (save it as CSV UTF-8)", path_);
    drop_blank_end();
    if (rest_.empty()) throw InputError("[csv] {}: expected a table of numbers, got an empty file", path_);
    read_first_row();
    if (rest_.empty()) throw InputError("[csv] {}: expected rows of numbers, got only a header", path_);

    auto values = std::make_shared<std::vector<double>>();
    const int64_t chosen = static_cast<int64_t>(positions_.size());
    // Every number takes at least two bytes with what follows it, so a wrong shape cannot ask for much memory.
    const size_t rows_left = static_cast<size_t>(std::count(rest_.begin(), rest_.end(), '\n')) + 1;
    values->reserve(std::min(rows_left * positions_.size(), rest_.size() / 2 + 1));
    std::vector<double> row(columns_);
    const bool in_order = std::is_sorted(positions_.begin(), positions_.end());
    while (!rest_.empty()) {
      read_row(next_line(), row.data());
      if (in_order && chosen == columns_) {
        values->insert(values->end(), row.begin(), row.end());
      } else {
        for (const int64_t position : positions_) values->push_back(row[position]);
      }
    }
    Table table;
    for (const int64_t position : positions_) {
      if (!names_.empty()) table.names.push_back(names_[position]);
    }
    const int64_t rows = static_cast<int64_t>(values->size()) / chosen;
    table.values = at::from_blob(
        values->data(), {rows, chosen}, [values](void*) {}, at::TensorOptions().dtype(at::kDouble));
    return table;
  }

 private:
  void drop_blank_end() {
    for (;;) {
      rest_ = rest_.substr(0, rest_.find_last_not_of("\r\n") + 1);
      const std::string_view last = rest_.substr(rest_.rfind('\n') + 1);
      if (last.empty() || !trimmed(last).empty()) return;
      rest_.remove_suffix(last.size());
    }
  }

  std::string_view next_line() {
    line_ += 1 + more_lines_;
    more_lines_ = 0;
    size_t size = line_end(0);
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

  /// By what the first row has outside its quotes.
  void find_separator() {
    bool inside = false, cell_begins = true, semicolon = false, tab = false;
    for (const char c : rest_) {
      if (c == '\n' && !inside) break;
      if (c == '"' && (inside || cell_begins)) inside = !inside;
      semicolon = semicolon || (!inside && c == ';');
      tab = tab || (!inside && c == '\t');
      cell_begins = !inside && (c == ',' || c == ';' || c == '\t' || (cell_begins && c == ' '));
    }
    separator_ = tab ? '\t' : semicolon ? ';' : ',';
  }

  void read_first_row() {
    const std::string_view whole = rest_;
    find_separator();
    const std::vector<std::string> first = cells(next_line());
    columns_ = static_cast<int64_t>(first.size());
    if (rules_.header || first_row_is_header(first))
      for (const std::string& name : first) names_.push_back(as_utf8(name));
    positions_ = choose_columns(choice_, names_, columns_, path_);
    wanted_.assign(columns_, false);
    for (const int64_t position : positions_) wanted_[position] = true;
    if (names_.empty()) {
      rest_ = whole;
      line_ = more_lines_ = 0;
    }
  }

  bool first_row_is_header(const std::vector<std::string>& first) const {
    for (const auto* words : {&choice_.columns, &choice_.drop}) {
      for (const std::string& word : *words) {
        if (!column_number(word, columns_)) return true;  // then it is a name, and names stand in a header
      }
    }
    const auto is_text = [](const std::string& text) { return !number(text) && !is_missing(text); };
    bool numbers = false;
    for (const int64_t position : choose_columns(choice_, {}, columns_, path_)) {
      // Text in columns that are not read says nothing: they may hold names in every row.
      if (is_text(first[position])) return true;
      numbers = numbers || number(first[position]);
    }
    // A row of numbers with a gap is data with a missing value.
    return !numbers && std::any_of(first.begin(), first.end(), is_text);
  }

  void read_row(std::string_view line, double* row) const {
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
    at = after;
    return true;
  }

  double read_careful(std::string_view line, size_t& at, int64_t column) const {
    if (trimmed(line).empty() && columns_ > 1) throw_ragged(line);
    const std::string text = cell(line, at, column);
    const std::optional<double> value = number(text);
    if (value && std::isfinite(*value)) return *value;
    std::string note;
    if (value && std::isinf(*value)) {
      throw InputError("[csv] {}: row {}, {}: expected a finite number, got {}", path_, line_, column_text(column),
                       in_quotes(text));
    }
    if (is_missing(text)) {
      if (rules_.lenient) return std::numeric_limits<double>::quiet_NaN();
      note = " (a missing value)";
    } else if (std::string point = text; std::count(text.begin(), text.end(), ',') == 1) {
      point[point.find(',')] = '.';
      if (number(point)) note = " (a decimal comma? numbers are read with a point)";
    } else if (is_row_of_numbers(text)) {
      note = " (several numbers? columns are told apart by commas, semicolons or tabs)";
    }
    if (note.empty() && !rules_.advice.empty())
      note = fmt::format(" ({}; {})", is_date(text) ? "a date" : "text", rules_.advice);
    throw InputError("[csv] {}: row {}, {}: expected a number, got {}{}", path_, line_, column_text(column),
                     in_quotes(text), note);
  }

  void skip_cell(std::string_view line, size_t& at, int64_t column) const {
    size_t begin = at;
    while (begin < line.size() && is_blank(line[begin], separator_)) ++begin;
    if (begin < line.size() && line[begin] == '"') {
      cell(line, at, column);
    } else {
      at = std::min(line.find(separator_, at), line.size());
    }
  }

  [[noreturn]] void throw_ragged(std::string_view line) const {
    if (trimmed(line).empty())
      throw InputError("[csv] {}: row {}: expected {} columns, got an empty line", path_, line_, columns_);
    throw InputError("[csv] {}: row {}: expected {} columns, got {}", path_, line_, columns_, cells(line).size());
  }

  std::string_view rest_;
  const std::string& path_;
  const ColumnChoice& choice_;
  const ReadRules& rules_;
  int64_t line_ = 0;
  int64_t more_lines_ = 0;  // that the last row took beyond its first
  char separator_ = ',';
  int64_t columns_ = 0;
  std::vector<std::string> names_;
  std::vector<int64_t> positions_;
  std::vector<bool> wanted_;
};

int64_t find_column(const std::string& word, const std::vector<std::string>& names, int64_t count,
                    const std::string& path) {
  const auto named = std::find(names.begin(), names.end(), word);
  if (named != names.end()) {
    if (std::find(named + 1, names.end(), word) != names.end()) {
      throw InputError("[table] {}: expected one column named {}, got several: choose by number", path,
                       in_quotes(word));
    }
    return named - names.begin();
  }
  if (const auto position = column_number(word, count)) return *position;
  std::string known = fmt::format("a number from 1 to {}", count);
  if (!names.empty()) {
    std::vector<std::string> shown;
    for (size_t k = 0; k < std::min<size_t>(names.size(), 10); ++k) shown.push_back(printable(names[k]));
    known += fmt::format(" or one of {}{}", fmt::join(shown, ", "), shown.size() < names.size() ? ", ..." : "");
  }
  throw InputError("[table] {}: expected a column ({}), got {}", path, known, in_quotes(word));
}

}  // namespace

std::vector<int64_t> choose_columns(const ColumnChoice& choice, const std::vector<std::string>& names, int64_t count,
                                    const std::string& path) {
  if (!choice.columns.empty() && !choice.drop.empty()) {
    throw InputError("[table] {}: expected columns to read or columns to drop, got both", path);
  }
  std::vector<int64_t> positions;
  std::vector<bool> used(count, false);
  for (const std::string& word : choice.columns.empty() ? choice.drop : choice.columns) {
    const int64_t position = find_column(word, names, count, path);
    if (used[position]) throw InputError("[table] {}: column {} is named twice", path, in_quotes(word));
    used[position] = true;
    positions.push_back(position);
  }
  if (!choice.columns.empty()) return positions;
  positions.clear();
  for (int64_t k = 0; k < count; ++k) {
    if (!used[k]) positions.push_back(k);
  }
  if (positions.empty()) throw InputError("[table] {}: expected a column to read, got all {} dropped", path, count);
  return positions;
}

Table parse_csv(std::string_view text, const std::string& path, const ColumnChoice& choice, const ReadRules& rules) {
  return CsvParser(text, path, choice, rules).parse();
}

Table read_csv(const std::string& path, const ColumnChoice& choice, const ReadRules& rules) {
  return parse_csv(read_file(path), path, choice, rules);
}

}  // namespace htfm
