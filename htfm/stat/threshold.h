// Where a tail begins: the number k of upper order statistics, chosen by a test of fit, with the whole path of
// estimates beside it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/estimators.h"

namespace htfm HTFM_PUBLIC {

struct ThresholdOptions {
  double level = 0.95;
  double largest_share =
      0.1;                // of the values that may count as tail; up to 150 of them (at most a third) in small samples
  int64_t smallest = 20;  // exceedances, at least
  double growth = 1.15;   // ratio of neighbouring k
  double p_value = 0.1;   // a fit with a smaller one is rejected
  double allowance = 1;   // standard errors of bias that the test is granted to have missed
  double clumps = 1;      // values that say the same, on average (clump_size): the test counts them once
};

/// One threshold and what the estimators say there.
struct ThresholdPoint {
  int64_t k = 0;
  double threshold = 0;
  TailEstimate hill, moment, gpd;
  double p_value = 0;  // of the generalised Pareto law against the excesses
};

/// The chosen threshold: the largest k whose excesses a generalised Pareto law fits.
struct TailChoice {
  std::vector<ThresholdPoint> path;  // ascending in k
  bool fits = false;                 // false: no k passes, and the smallest one is taken
  int64_t k = 0, n = 0;              // k = 0: too few values, or no spread
  double threshold = 0, p_value = 0;
  GpdFit fit;
  TailEstimate hill, moment;  // at the same k
  bool hill_agrees = false;   // with the moment estimate at k / 2: a pure power law is possible

  double gamma = 0;         // mean of the moment and the generalised Pareto estimate, each by its precision
  Interval gamma_interval;  // holds both intervals at k, widened by the allowance, and those at k / 2 (with Hill's
                            // where it agrees)
  Interval sampling;        // both at k, without the allowance: what decides between light and heavy
  std::string explanation;  // one or two sentences

  double index() const;
  Interval index_interval() const { return htfm::index_interval(gamma_interval); }
};

/// The most exceedances that choose_threshold looks at: of n values it reads one more than so many of the largest.
int64_t most_exceedances(int64_t n, const ThresholdOptions& options = {});

/// Chooses the threshold of ascending values; those that matter must be positive for Hill and moment (they are left out
/// otherwise).
TailChoice choose_threshold(std::span<const double> sorted, const ThresholdOptions& options = {});

/// The upper-tail Anderson-Darling distance between excesses and fitted law.
double gpd_distance(std::span<const double> sorted, const GpdFit& fit);

/// How likely the upper-tail Anderson-Darling distance between excesses and fitted law would be at least as large, were
/// the law right; of values that come in clumps, on average of this size.
double gpd_p_value(std::span<const double> sorted, const GpdFit& fit, double clumps = 1);

}  // namespace htfm
