// Values far beyond all others of a column, which may be errors: a stone of 58.9 mm among stones of at most 10.
#pragma once

#include <span>
#include <vector>

namespace htfm {

struct StrayValues {
  std::vector<double> values = {};  ///< ascending
  double next = 0;                  ///< the largest of the others
};

/// The largest values, up to five, that the tail of all others gives in one table of 100,000; none where there are
/// fewer than 500 values, or few different ones among the largest. A heavy tail has none: its own values say that
/// others lie far beyond them.
StrayValues find_stray_values(std::span<const double> values);

}  // namespace htfm
