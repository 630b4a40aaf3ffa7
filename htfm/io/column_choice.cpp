#include "htfm/io/column_choice.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/io/csv.h"
#include "htfm/io/text.h"

namespace htfm {

std::optional<int64_t> column_number(const std::string& word, int64_t count) {
  const std::optional<int64_t> value = parse_number<int64_t>(word);
  return value && *value >= 1 && *value <= count ? std::optional(*value - 1) : std::nullopt;
}

namespace {

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
    if (used[position])
      throw InputError("[table] {}: expected each column once, got {} named twice", path, in_quotes(word));
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

}  // namespace htfm
