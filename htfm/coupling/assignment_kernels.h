// Dense scans behind htfm/coupling/assignment.h.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

/// The two smallest values of a row and where the first one stands; of equal ones the first.
struct BestTwo {
  double best, second;
  int64_t at;
};

/// The smallest value of a row; of equal ones the first.
struct Nearest {
  double distance;
  int64_t at;
};

struct AssignmentKernels {
  /// out[j] = ||x - y_j||^p, the y given as dim arrays of n values.
  void (*cost_row)(int64_t n, int64_t dim, const double* x, const double* y, double p, double* out);
  /// Of cost[j] - price[j].
  BestTwo (*best_two)(int64_t n, const double* cost, const double* price);
  /// distance[j] = min(distance[j], (cost[j] - price[j]) + offset), from[j] = row where that is less; the smallest
  /// distance.
  Nearest (*relax)(int64_t n, const double* cost, const double* price, double offset, double row, double* distance,
                   double* from);
  /// least[j] = min(least[j], cost[j] - price).
  void (*lower)(int64_t n, const double* cost, double price, double* least);
};
HTFM_DECLARE_KERNELS(AssignmentKernels)

}  // namespace htfm
