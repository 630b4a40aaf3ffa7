// Scores of fields against real ones: the paper's KR, SR and tail KS, and how often, how large and how rough extremes
// are.
#pragma once

#include <vector>

#include "htfm/base/api.h"
#include "htfm/metric/field_summary.h"
#include "htfm/stat/bootstrap.h"

namespace htfm HTFM_PUBLIC {

struct FieldScoreOptions {
  double cut = 0.999;   ///< tail KS: where both sets are cut, a quantile of the real one (or each of its own)
  double wet = 0.1;     ///< values of at least this are wet
  int64_t blocks = 50;  ///< of neighbouring fields, drawn anew for the intervals
  std::vector<double> periods = {10, 100, 1000};  ///< return levels: the maximum exceeded by one field in so many
  BootstrapOptions bootstrap = {};
};

/// A curve of both sets with intervals.
struct FieldCurve {
  std::vector<double> x;
  std::vector<Scored> real, fake;
};

struct FieldScores {
  int64_t real = 0, fake = 0, nonfinite = 0;  ///< fields scored, and samples left out since a value was not finite
  Scored kurtosis_real, kurtosis_fake, skewness_real, skewness_fake;
  Scored kr, sr;              ///< |1 - fake / real|
  Scored tail_ks;             ///< of the values beyond the cut; NaN where a set has fewer than five there
  Scored tail_ks_own;         ///< the same, each set cut at its own quantile: it sees the size of the extremes too
  Scored tail_share;          ///< share of the fake values beyond the cut over that of the real ones: 1 is right
  double cut = 0;             ///< the value at which both sets are cut
  Scored wet_real, wet_fake;  ///< share of the area that is wet
  Scored spectrum_distance;   ///< root mean square of log(fake / real) over the wave numbers
  FieldCurve exceedance;      ///< share of values of at least x, x positive
  FieldCurve spectrum;        ///< power against wave number
  FieldCurve return_levels;   ///< of the field maximum, against the period in fields; NaN where a set is too small
};

/// Reads the real stream twice and the fake one once, or twice where its tail begins lower; memory does not grow with
/// the number of fields, but for their maxima and the largest values.
FieldScores field_scores(const FieldStream& real, const FieldStream& fake, const FieldScoreOptions& options = {});

}  // namespace htfm
