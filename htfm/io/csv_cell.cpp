#include "htfm/io/csv_cell.h"

namespace htfm {

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
