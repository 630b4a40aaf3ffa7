// The tables of a risk report, cell by cell, as a terminal, a page and files show them.
#pragma once

#include <string>
#include <vector>

#include "htfm/risk/risk.h"
#include "htfm/tail/risk_measures.h"

namespace htfm {

/// Titles first, then rows of cells.
using CellTable = std::vector<std::vector<std::string>>;

/// "0.0312 (0.0298 to 0.0331)"; "-" where nothing is known.
std::string scored_text(const Scored& figure);
/// "fire" or "fire (low)".
std::string loss_name(const RiskLoss& loss);

CellTable measure_cells(const RiskReport& report);
/// What return periods count.
std::string once_in_title(const RiskReport& report);
/// Whether every return period is one of the levels, so that a table of its own would say nothing new.
bool periods_are_levels(const RiskReport& report);
CellTable return_cells(const RiskReport& report);
/// Pairs at the level of this place in RiskOptions::levels, those that come together most first.
CellTable pair_cells(const RiskReport& report, size_t level, size_t most);
CellTable stress_cells(const RiskReport& report, const StressTable& table);
/// "DAX beyond its 0.99 quantile (1,000 samples)"
std::string stress_title(const RiskReport& report, const StressTable& table);
/// The level whose pairs are shown first: 0.99, or the one nearest to it.
size_t shown_level(const RiskReport& report);

}  // namespace htfm
