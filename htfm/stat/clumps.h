// Values that come together: rows that repeat a value (the same person in several years), or numbers that people round
// more than the column's step says. A test that takes them for independent ones rejects every smooth law.
#pragma once

#include <cstdint>
#include <span>

namespace htfm {

/// How many of a tail's values say the same, on average: 1 where they are independent, 2 where each occurs twice. It is
/// the variance of how many values a cell of the lattice has, about a smooth density and relative to the mean; without
/// a lattice (`step` 0) every value is a cell. Looks at the k largest of ascending values, where these show nothing at
/// the larger half, and then at all; 1 where none show more than chance would. One or two values that occur far more
/// often than all others count as the third does: they are no sign of what the others do.
double clump_size(std::span<const double> sorted, int64_t k, double step);

}  // namespace htfm
