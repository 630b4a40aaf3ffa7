#include "htfm/metric/kmeans_kernels.h"

#include "htfm/metric/tile.h"

namespace htfm {
namespace {

constexpr int kMany = kLanes == 8 ? 8 : 4;  // query vectors against kPotentials centres: as many sums as registers hold
constexpr int kFew = kLanes == 8 ? 4 : 2;   // query vectors against kCenters centres
constexpr int kCenters = 4;

inline int64_t vector_count(int64_t n) { return (n + kBlock - 1) / kBlock * kGroups; }
inline int tile_vectors(int64_t all, int64_t first, int most) {
  return all - first < most ? static_cast<int>(all - first) : most;
}

inline double sum_lanes(Vec v) {
  double sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += v[i];
  return sum;
}

template <int D>
void assign(const double* x, int64_t n, int64_t dim, const double* centers, int64_t count, int32_t* label,
            double* distance2) {
  const int64_t all = vector_count(n);
  for (int64_t first = 0; first < all; first += kFew) {
    const int vectors = tile_vectors(all, first, kFew);
    Vec best[kFew], where[kFew];
    for (int v = 0; v < kFew; ++v) best[v] = splat(__builtin_inf()), where[v] = Vec{};
    for (int64_t c = 0; c < count; c += kCenters) {
      Vec sum[kFew][kCenters];
      tile<D>(x, dim, first, vectors, centers + c / kBlock * dim * kBlock + c % kBlock, sum);
#pragma GCC unroll 4
      for (int i = 0; i < kCenters; ++i) {
        const Vec number = splat(static_cast<double>(c + i));
#pragma GCC unroll 4
        for (int v = 0; v < kFew; ++v) {
          where[v] = sum[v][i] < best[v] ? number : where[v];
          best[v] = min(sum[v][i], best[v]);
        }
      }
    }
    for (int v = 0; v < vectors; ++v)
      for (int i = 0; i < kLanes && (first + v) * kLanes + i < n; ++i) {
        label[(first + v) * kLanes + i] = static_cast<int32_t>(where[v][i]);
        distance2[(first + v) * kLanes + i] = best[v][i];
      }
  }
}

template <int D>
void potentials(const double* x, int64_t n, int64_t dim, const double* centers, const double* closest, double* sums) {
  const int64_t all = vector_count(n);
  Vec total[kPotentials] = {};
  for (int64_t first = 0; first < all; first += kMany) {
    const int vectors = tile_vectors(all, first, kMany);
    Vec sum[kMany][kPotentials];
    tile<D>(x, dim, first, vectors, centers, sum);
    for (int i = 0; i < kPotentials; ++i)
      for (int v = 0; v < vectors; ++v) total[i] += min(sum[v][i], load(closest + (first + v) * kLanes));
  }
  for (int i = 0; i < kPotentials; ++i) sums[i] = sum_lanes(total[i]);
}

template <int D>
void shrink(const double* x, int64_t n, int64_t dim, const double* center, double* closest, double* chunk_sums) {
  constexpr int kVectors = kChunk / kLanes;
  const int64_t all = vector_count(n);
  for (int64_t first = 0; first < all; first += kVectors) {
    const int vectors = tile_vectors(all, first, kVectors);
    Vec total = {};
    for (int v = 0; v < vectors; ++v) {
      Vec sum[1][1];
      tile<D>(x, dim, first + v, 1, center, sum);
      double* at = closest + (first + v) * kLanes;
      const Vec smaller = min(sum[0][0], load(at));
      store(at, smaller);
      total += smaller;
    }
    chunk_sums[first / kVectors] = sum_lanes(total);
  }
}

void assign_any(const double* x, int64_t n, int64_t dim, const double* centers, int64_t count, int32_t* label,
                double* distance2) {
  (dim == 2 ? assign<2> : assign<0>)(x, n, dim, centers, count, label, distance2);
}
void potentials_any(const double* x, int64_t n, int64_t dim, const double* centers, const double* closest,
                    double* sums) {
  (dim == 2 ? potentials<2> : potentials<0>)(x, n, dim, centers, closest, sums);
}
void shrink_any(const double* x, int64_t n, int64_t dim, const double* center, double* closest, double* chunk_sums) {
  (dim == 2 ? shrink<2> : shrink<0>)(x, n, dim, center, closest, chunk_sums);
}

}  // namespace

HTFM_DEFINE_KERNELS(KMeansKernels, &assign_any, &potentials_any, &shrink_any)

}  // namespace htfm
