// How well samples match the tails of data: far quantiles, tail index, law beyond a cut, records; of the radius and of
// each column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/bootstrap.h"
#include "htfm/stat/points.h"

namespace htfm HTFM_PUBLIC {

struct TailScoreOptions {
  std::vector<double> levels = {0.99, 0.999, 0.9999};
  std::vector<double> msle_levels = {0.99, 0.995, 0.999, 0.9995, 0.9999};
  double tail_fraction = 0.005;  // share of the largest values that the tail index looks at
  double cut = 0.999;            // tail KS: both sets are cut at this quantile of the real one
  bool columns = true;           // false: the radius alone
  BootstrapOptions bootstrap = {};
};

/// How many fake values are larger than the largest real one.
struct Exceedances {
  Scored count;
  double expected = 0;  // for the same law: n_fake / (n_real + 1)
  double p_more = 0;    // probability of at least so many for the same law: small means a tail too heavy
  double p_fewer = 0;   // of at most so many: small means a tail too light
};

/// One number of the rows, its upper tail.
struct ViewScore {
  std::vector<Scored> log_q;  // log(q_fake / q_real), one a level; NaN where fewer than one value lies beyond
  Scored msle;                // mean square of the same over msle_levels
  Scored index_error;         // Hill index of the fake set over that of the real one, less 1
  Scored ks;     // Kolmogorov-Smirnov distance beyond the cut; NaN where a set has fewer than five values there
  Scored share;  // share of the fake values beyond the cut over that of the real ones: 1 is right
  Exceedances exceedances;
};

/// A column about its median in the real set.
struct ColumnScore {
  ViewScore both;          // |x - median|
  ViewScore above, below;  // x - median, median - x
  Scored ks;               // mean of the two sides; the upper one alone where no real value is negative
};

struct TailScores {
  std::vector<double> levels;
  ViewScore radius;
  std::vector<ColumnScore> columns;
  // Means over the columns, of absolute values where a score has a sign.
  std::vector<Scored> mean_log_q;
  Scored mean_msle, mean_index_error, mean_ks;
};

/// Scores `fake` against `real`; distances are taken about the coordinate-wise median of `real`.
TailScores tail_scores(const Points& real, const Points& fake, const TailScoreOptions& options = {});
TailScores tail_scores(const at::Tensor& real, const at::Tensor& fake, const TailScoreOptions& options = {});

}  // namespace htfm
