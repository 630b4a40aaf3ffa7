#include "htfm/metric/mmd_kernels.h"

#include "htfm/base/math.h"
#include "htfm/metric/tile.h"

namespace htfm {
namespace {

template <int D>
double sum(const double* x, const double* y, int64_t begin, int64_t end, int64_t dim, double rate, int scales) {
  constexpr int kPoints = kLanes == 8 ? 8 : 4;
  double total[kBlock] = {};
  for (int64_t block = begin; block < end; ++block) {
    for (int p = 0; p < kBlock; p += kPoints) {
      for (int group = 0; group < kGroups; ++group) {
        Vec distance2[1][kPoints];
        tile<D>(x, dim, group, 1, y + block * dim * kBlock + p, distance2);
        double e[kPoints * kLanes];
        for (int i = 0; i < kPoints; ++i)
          store(e + i * kLanes, min(distance2[0][i], splat(1e300)));  // two empty lanes differ by NaN
        for (double& v : e) v = exp_double(-rate * v);
        for (int s = 0; s < scales; ++s) {
          for (int i = 0; i < kPoints; ++i)
            for (int l = 0; l < kLanes; ++l) total[group * kLanes + l] += e[i * kLanes + l];
          for (double& v : e) v *= v;
          for (double& v : e) v *= v;
        }
      }
    }
  }
  double all = 0;
  for (const double v : total) all += v;
  return all;
}

double sum_any(const double* x, const double* y, int64_t begin, int64_t end, int64_t dim, double rate, int scales) {
  return (dim == 2 ? sum<2> : sum<0>)(x, y, begin, end, dim, rate, scales);
}

}  // namespace

HTFM_DEFINE_KERNELS(MmdKernels, &sum_any)

}  // namespace htfm
