// Squared distances between blocked points, a tile of them at a time. Included by *_kernels.cpp only.
#pragma once

#include <cstdint>

#include "htfm/base/lanes.h"
#include "htfm/metric/blocks.h"

namespace htfm {
namespace {

using Vec = Vector<double>;
inline constexpr int kLanes = kLanesOf<double>;
inline constexpr int kGroups = kBlock / kLanes;  // vectors of a block

/// Where the coordinates of one vector of blocked points begin.
inline const double* vector_at(const double* x, int64_t dim, int64_t vector) {
  return x + vector / kGroups * dim * kBlock + vector % kGroups * kLanes;
}

/// sum[v][p] = squared distances of V consecutive vectors of points to P consecutive lanes of a block, V * P sums held
/// in registers. D = 0 stands for a dimension known at run time. Vectors from `vectors` on repeat the first.
template <int D, int V, int P>
[[gnu::always_inline]] inline void tile(const double* x, int64_t dim, int64_t first, int vectors, const double* others,
                                        Vec (&sum)[V][P]) {
  const int64_t size = D > 0 ? D : dim;
  const double* at[V];
  for (int v = 0; v < V; ++v) at[v] = vector_at(x, size, v < vectors ? first + v : first);
  Vec s[V][P] = {};
  for (int64_t d = 0; d < size; ++d) {
    Vec q[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) q[v] = load(at[v] + d * kBlock);
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      const double other = others[d * kBlock + p];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        const Vec difference = q[v] - other;
        s[v][p] += difference * difference;
      }
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v)
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) sum[v][p] = s[v][p];
}

}  // namespace
}  // namespace htfm
