#include "htfm/data/stray_sentences.h"

#include <fmt/format.h>

#include <cmath>

#include "htfm/stat/stray_values.h"

namespace htfm {

namespace {

// The values of a column that is no category and no date; none of another.
std::vector<double> numbers_of(const Dataset& table, int64_t column) {
  std::vector<double> out;
  if (!table.columns.empty() && table.columns[static_cast<size_t>(column)].kind != ColumnKind::number) return out;
  const int64_t n = table.rows.size(0), width = table.rows.size(1);
  const double* x = table.rows.const_data_ptr<double>() + column;
  out.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    if (std::isfinite(x[i * width])) out.push_back(x[i * width]);
  return out;
}

// `apart`: whether they are drawn as a part of their own; they are some of `rows` values.
std::string sentence_of(const StrayValues& found, const std::string& name, double sign, bool apart, size_t rows) {
  if (found.values.empty()) return "";
  const std::string fate =
      apart ? fmt::format("They are drawn as a separate part, {} of {} rows", found.values.size(), rows)
            : "They count as part of its tail";
  std::string list;
  for (const double v : found.values) list += fmt::format("{}{:.7g}", list.empty() ? "" : ", ", sign * v);
  return fmt::format("{}: far {} all others: {} (the next is {:.7g}). Errors? If so, leave their rows out. {}.", name,
                     sign > 0 ? "above" : "below", list, sign * found.next, fate);
}

}  // namespace

std::vector<std::string> stray_sentences(const Dataset& table, const TableTransform* drawn) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) out.push_back(sentence);
  };
  for (int64_t k = 0; k < table.rows.size(1); ++k) {
    const std::string name = column_name(table, k);
    std::vector<double> values = numbers_of(table, k);
    const auto add_side = [&](bool above) {
      const bool apart = drawn && drawn->draws_strays(k, above);
      add(sentence_of(find_stray_values(values), name, above ? 1 : -1, apart, values.size()));
    };
    add_side(true);
    for (double& v : values) v = -v;
    add_side(false);
  }
  return out;
}

}  // namespace htfm
