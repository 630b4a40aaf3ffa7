// The law of one column where a Student-t law fits it: its far quantiles then rest on all rows, not on the few in the
// tail.
#pragma once

#include <optional>
#include <span>

#include "htfm/stat/margin.h"

namespace htfm {

/// The value that a standard Student-t law exceeds with probability p in (0, 1/2].
double student_quantile(double nu, double p);

/// Of values in any order: order statistics in the body, Student-t tails. None where there are fewer than 1,000 of
/// them, where the law does not fit (check_student_t), or where it is as good as normal.
std::optional<Margin> student_margin(std::span<const double> values);

}  // namespace htfm
