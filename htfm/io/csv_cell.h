// One cell of a line of comma-separated text: what its words stand for, and how a text becomes one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace htfm {

/// A number as the whole of a cell. Tiny numbers become zero or subnormal; infinite ones and "nan" are given as they
/// are.
std::optional<double> cell_number(std::string_view cell);
/// A word that stands for "no value" where numbers are expected.
bool is_missing_cell(std::string_view cell);
/// A whole number that begins with a zero: a code, which would lose it as a number.
bool is_padded_cell(std::string_view cell);
/// Digits with the marks of a date or a time: 2020-01-31, 31.1.2020, 12:30:00.
bool is_date_cell(std::string_view cell);
/// Numbers with blanks between them.
bool is_row_of_numbers(std::string_view cell);

/// Appends a text as a cell: between double quotes where `quote` says so or the text holds what would end the cell.
void append_csv_cell(std::string_view cell, std::string& text, bool quote);

}  // namespace htfm
