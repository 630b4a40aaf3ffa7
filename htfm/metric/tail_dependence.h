// Do the columns go to extremes together: coefficients of tail dependence of pairs of columns.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/bootstrap.h"
#include "htfm/stat/points.h"

namespace htfm HTFM_PUBLIC {

struct TailDependenceOptions {
  std::vector<double> levels = {0.95, 0.99};
  int64_t pairs = 2000;  // of more pairs so many are drawn
  BootstrapOptions bootstrap = {};
};

/// chi(u) = P(both columns beyond their u-quantiles) / (1 - u): 1 - u where they are independent, 1 where they are one;
/// each set has its own quantiles. NaN where fewer than one row lies beyond.
struct Chi {
  Scored real, fake, difference;  // fake - real
};

struct PairDependence {
  int64_t first = 0, second = 0;  // columns, from 0
  std::vector<Chi> above, below;  // one a level: both large, both small
};

struct TailDependence {
  std::vector<double> levels;
  std::vector<PairDependence> pairs;
  std::vector<Scored> mean_above, mean_below;  // |fake - real|, mean over the pairs, one a level
};

TailDependence tail_dependence(const Points& real, const Points& fake, const TailDependenceOptions& options = {});

}  // namespace htfm
