// One cell of a line of comma-separated text.
#pragma once

#include <string>
#include <string_view>

namespace htfm {

/// Appends a text as a cell: between double quotes where `quote` says so or the text holds what would end the cell.
void append_csv_cell(std::string_view cell, std::string& text, bool quote);

}  // namespace htfm
