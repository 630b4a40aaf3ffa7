// What tables of tails say, cell by cell, on a page as on a terminal.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "htfm/tail/diagnosis.h"

namespace htfm {

/// "2.31"; "∞" where there is no power law, "-" where nothing is known.
std::string index_text(double index);
/// "2.10 to 2.55"
std::string interval_text(const Interval& index);
/// "2.31 (2.10 to 2.55)"
std::string estimate_text(const TailEstimate& estimate);

/// The tails that a table lists: the radius, and the sides of the columns.
std::vector<const TailReport*> listed_tails(const Diagnosis& diagnosis);

/// The directions by their verdict.
struct DirectionCounts {
  int64_t heavy = 0, light = 0, unclear = 0;
};
DirectionCounts count_directions(const Diagnosis& diagnosis);

/// Cells in columns as wide as their widest, two spaces between, a line each row.
std::string aligned_text(const std::vector<std::vector<std::string>>& rows);

/// A row of the table of skewness, and its titles.
inline constexpr std::array<const char*, 5> kSkewTitles{"column", "tails", "octile skewness", "distance above / below",
                                                        "γ above − below"};
std::array<std::string, 5> skewness_cells(const Skewness& skewness);

}  // namespace htfm
