// Sorting of many doubles.
#pragma once

#include <vector>

namespace htfm {

/// Sorts ascending by the bits of the numbers, several times faster than std::sort on long arrays. No NaN; scratch is
/// resized as needed.
void sort_values(std::vector<double>& values, std::vector<double>& scratch);
void sort_values(std::vector<double>& values);

}  // namespace htfm
