// Intervals of figures from rounds of a bootstrap, and from models trained anew.
#pragma once

#include <vector>

#include "htfm/stat/bootstrap.h"

namespace htfm {

/// Sets the interval of each figure. `rounds`: the figures of each round, whose percentiles are taken, infinite values
/// included; no interval where half of them are NaN. `refits`: the figures of models trained anew; where they scatter
/// more than the rounds do, the interval is stretched around the value by that much (and by Student's factor for few).
void set_intervals(const std::vector<Scored*>& figures, const std::vector<std::vector<double>>& rounds,
                   const std::vector<std::vector<double>>& refits, double level);

}  // namespace htfm
