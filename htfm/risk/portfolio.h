// A weighted sum of columns.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Columns and their weights.
using Portfolio = std::vector<std::pair<std::string, double>>;

/// Reads lines "column,weight"; a first line "column,weight" is a header, empty lines are skipped, names may stand in
/// double quotes. InputError names file and line.
Portfolio read_portfolio(const std::string& path);
/// The same from memory; `path` is for messages.
Portfolio parse_portfolio(std::string_view text, const std::string& path);

/// One weight for each of the named columns, 0 where the portfolio has none. InputError for an unknown column.
std::vector<double> portfolio_weights(const Portfolio& portfolio, const std::vector<std::string>& columns);

}  // namespace htfm
