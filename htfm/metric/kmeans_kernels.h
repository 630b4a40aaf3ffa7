// Inner loops of k-means over blocked points (blocks.h).
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

/// Centres that one call of KMeansKernels::potentials looks at.
inline constexpr int kPotentials = 2;
/// Vectors and partial sums of shrink() cover this many points.
inline constexpr int kChunk = 64;

struct KMeansKernels {
  /// For each point the nearest of `count` blocked centres (the first of equals) and the squared distance to it.
  void (*assign)(const double* x, int64_t n, int64_t dim, const double* centers, int64_t count, int32_t* label,
                 double* distance2);
  /// For kPotentials consecutive lanes of a block of centres: the sum over all points of min(closest, squared
  /// distance).
  void (*potentials)(const double* x, int64_t n, int64_t dim, const double* centers, const double* closest,
                     double* sums);
  /// closest = min(closest, squared distance to a centre, given as a lane of a block), and its sum over each chunk.
  void (*shrink)(const double* x, int64_t n, int64_t dim, const double* center, double* closest, double* chunk_sums);
};
HTFM_DECLARE_KERNELS(KMeansKernels)

}  // namespace htfm
