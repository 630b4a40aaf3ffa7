// f1_prd: precision and recall of distributions (Sajjadi et al. 2018) by k-means, the score of the code that the paper
// cites.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/points.h"

namespace htfm HTFM_PUBLIC {

struct PrdOptions {
  int64_t clusters = 0;  // 0: 100, or 20 where a set has at most 2,500 points
  int64_t clusterings = 10;
  int64_t angles = 201;
  uint64_t seed = 0;
};

struct PrdScore {
  double precision = 0;  // largest F_8 of the curve
  double recall = 0;     // largest F_(1/8)
  double f1 = 0;         // harmonic mean
  int64_t points = 0;    // of each set, really used
  int64_t clusters = 0;
  std::vector<double> curve_precision, curve_recall;  // one value an angle, averaged over the clusterings
};

/// Histograms of both sets over clusters of the pooled points; of sets that differ in size the first min(n, m) rows are
/// used.
PrdScore f1_prd(const at::Tensor& real, const at::Tensor& fake, const PrdOptions& options = {});
PrdScore f1_prd(const Points& real, const Points& fake, const PrdOptions& options = {});

/// The score of two histograms over the same bins, each summing to 1: the curve at `angles` slopes and its F values.
PrdScore prd_of_histograms(const std::vector<double>& real, const std::vector<double>& fake, int64_t angles = 201);

}  // namespace htfm
