#include "htfm/metric/blocks.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace htfm {

void fill_blocks(const double* x, int64_t dim, const int64_t* rows, int64_t n, double* out) {
  for (int64_t begin = 0; begin < n; begin += kBlock, out += dim * kBlock) {
    const int64_t in_use = std::min<int64_t>(kBlock, n - begin);
    for (int64_t i = 0; i < in_use; ++i) {
      const double* from = x + (rows ? rows[begin + i] : begin + i) * dim;
      for (int64_t d = 0; d < dim; ++d) out[d * kBlock + i] = from[d];
    }
    for (int64_t i = in_use; i < kBlock; ++i)
      for (int64_t d = 0; d < dim; ++d) out[d * kBlock + i] = std::numeric_limits<double>::infinity();
  }
}

}  // namespace htfm
