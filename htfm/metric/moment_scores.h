// Kurtosis and skewness of samples against those of data: the paper's KR and SR.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/bootstrap.h"
#include "htfm/stat/points.h"

namespace htfm HTFM_PUBLIC {

/// Population skewness and kurtosis; NaN without spread.
struct MomentShape {
  double skewness = std::numeric_limits<double>::quiet_NaN(), kurtosis = std::numeric_limits<double>::quiet_NaN();
};
/// From the sums of the powers 1 to 4 of n values, taken about any place near their middle.
MomentShape moment_shape(const std::array<double, 4>& sums, double n);

/// Of one column. Population moments; the kurtosis of a normal law is 3. Undefined (NaN) for a column without spread.
struct MomentScore {
  Scored kurtosis_real, kurtosis_fake, skewness_real, skewness_fake;
  Scored kr, sr;  // |1 - fake / real|
};

struct MomentScores {
  std::vector<MomentScore> columns;
  Scored kr, sr;  // means over the columns
};

/// The largest rows are drawn anew one by one, the sums over the many others as normal variables with their covariance.
MomentScores moment_scores(const Points& real, const Points& fake, const BootstrapOptions& options = {});

}  // namespace htfm
