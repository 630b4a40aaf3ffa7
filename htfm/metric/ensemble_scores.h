// Scores of ensembles of fields against what came to be: CRPS, and whether they spread as far as they err.
#pragma once

#include <ATen/core/Tensor.h>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct EnsembleScores {
  double crps = 0;          ///< fair: that of an infinite ensemble of the same law; of one member its absolute error
  double spread = 0;        ///< root of the mean variance of the members
  double error = 0;         ///< root mean square error of the ensemble's mean
  double spread_skill = 0;  ///< sqrt((m + 1) / m) spread / error: 1 where members and truth have one law
};

/// `members`: cases x m x points, `truth`: cases x points; all points weigh the same.
EnsembleScores ensemble_scores(const at::Tensor& members, const at::Tensor& truth);

}  // namespace htfm
