// Columns by name or number (ColumnChoice of htfm/io/csv.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace htfm {

/// A column's position from 0, given as a number from 1 to count.
std::optional<int64_t> column_number(const std::string& word, int64_t count);

}  // namespace htfm
