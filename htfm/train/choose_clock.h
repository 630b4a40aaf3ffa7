// A clock that comes from the data: the family, its parameter and why.
#pragma once

#include <string>

#include "htfm/clock/clock.h"
#include "htfm/tail/diagnosis.h"

namespace htfm {

/// A clock and the reasons for it, in sentences for the log and the report.
struct ChosenClock {
  ClockSpec spec;
  std::string explanation;
  double source_scale = 1;  ///< median size of the data over that of the clock's source
};

/// The clock that a diagnosis speaks for: deterministic where tails are light, inverse-gamma with the tail's index where they are heavy.
ChosenClock suggest_clock(const Diagnosis& diagnosis, int grid = 200);

}  // namespace htfm
