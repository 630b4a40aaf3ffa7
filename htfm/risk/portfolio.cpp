#include "htfm/risk/portfolio.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "htfm/base/error.h"
#include "htfm/base/nearest.h"
#include "htfm/base/parse_number.h"
#include "htfm/base/split.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {

namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string unquoted(std::string_view s) {
  if (s.size() < 2 || s.front() != '"' || s.back() != '"') return std::string(s);
  std::string out;
  for (size_t i = 1; i + 1 < s.size(); ++i) {
    out += s[i];
    if (s[i] == '"' && s[i + 1] == '"') ++i;
  }
  return out;
}

}  // namespace

Portfolio parse_portfolio(std::string_view text, const std::string& path) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Portfolio out;
  std::set<std::string> known;
  int64_t line = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++line;
    const std::string_view whole = trimmed(raw, kBlanks);
    if (whole.empty()) continue;
    const size_t comma = whole.find_last_of(",;\t");
    if (comma == std::string::npos)
      throw InputError("[portfolio] {}: line {}: expected column,weight; got {}", path, line, in_quotes(whole));
    const std::string name = unquoted(trimmed(whole.substr(0, comma), kBlanks));
    const std::string_view weight = trimmed(whole.substr(comma + 1), kBlanks);
    if (out.empty() && name == "column" && weight == "weight") continue;
    const std::optional<double> value = parse_finite(weight.substr(weight.starts_with('+') ? 1 : 0));
    if (!value)
      throw InputError("[portfolio] {}: line {}: expected a number as the weight of {}, got {}", path, line,
                       in_quotes(name), in_quotes(weight));
    if (!known.insert(name).second)
      throw InputError("[portfolio] {}: line {}: expected every column once, got {} again", path, line,
                       in_quotes(name));
    out.emplace_back(name, *value);
  }
  if (std::all_of(out.begin(), out.end(), [](const auto& part) { return part.second == 0; }))
    throw InputError("[portfolio] {}: expected lines column,weight with a weight that is not 0, got none", path);
  return out;
}

Portfolio read_portfolio(const std::string& path) { return parse_portfolio(read_file(path), path); }

std::vector<double> portfolio_weights(const Portfolio& portfolio, const std::vector<std::string>& columns) {
  std::vector<double> out(columns.size(), 0.0);
  for (const auto& [name, weight] : portfolio) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) {
      const std::string like = nearest_name(name, columns, 2);
      throw InputError("[portfolio] expected columns of the model ({}), got {}{}", fmt::join(columns, ", "),
                       in_quotes(name), like.empty() ? "" : fmt::format(": did you mean {}?", like));
    }
    if (!std::isfinite(weight)) throw InputError("[portfolio] expected a finite weight of '{}', got {}", name, weight);
    out[static_cast<size_t>(found - columns.begin())] = weight;
  }
  return out;
}

}  // namespace htfm
