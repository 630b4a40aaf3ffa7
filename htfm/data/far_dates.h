// Dates far from all others of a column, which stand for none: 9999-12-31 as the end of a policy that has no end.
#pragma once

#include <vector>

namespace htfm {

/// The last date and the first, where they lie more than ten years from all others, and more than three times as far as
/// the others lie apart. `year`: its length in the units of the dates.
std::vector<double> far_dates(const std::vector<double>& dates, double year);

}  // namespace htfm
