#include "htfm/io/csv_cell.h"

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>

#include "htfm/base/split.h"

namespace htfm {

std::optional<double> cell_number(std::string_view cell) {
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

bool is_missing_cell(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.empty()) return true;
  for (const std::string_view word :
       {"NA", "N/A", "n/a", "NaN", "nan",  "NAN", "NaT",    "<NA>",    "null",    "NULL",  "Null",  "None",
        "-",  "--",  ".",   "?",   "#N/A", "#NA", "#NULL!", "#DIV/0!", "#VALUE!", "#NUM!", "#REF!", "#NAME?"}) {
    if (cell == word) return true;
  }
  const std::optional<double> value = cell_number(cell);
  return value && !std::isfinite(*value);
}

bool is_padded_cell(std::string_view cell) {
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  return cell.size() > 1 && cell[0] == '0' && cell.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_date_cell(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.empty() || cell[0] < '0' || cell[0] > '9' ||
      cell.find_first_not_of("0123456789-/.: TZ+") != std::string_view::npos)
    return false;
  return std::count_if(cell.begin(), cell.end(), [](char c) { return c == '-' || c == '/' || c == '.' || c == ':'; }) >=
         2;
}

bool is_row_of_numbers(std::string_view cell) {
  int64_t count = 0;
  for (cell = trimmed(cell); !cell.empty(); ++count) {
    const size_t end = std::min(cell.find_first_of(" \t"), cell.size());
    if (!cell_number(cell.substr(0, end))) return false;
    cell = trimmed(cell.substr(end));
  }
  return count > 1;
}

void append_csv_cell(std::string_view cell, std::string& text, bool quote) {
  if (!quote && cell.find_first_of(",;\t\"\r\n") == std::string_view::npos) {
    text += cell;
    return;
  }
  text += '"';
  for (const char c : cell) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
}

}  // namespace htfm
