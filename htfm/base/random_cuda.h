// The random numbers of htfm/base/random.h on a CUDA device: the same key and index give the same number up to
// rounding. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace htfm::cuda {

struct Words {
  uint32_t w[4];
};

// Philox4x32-10, as in htfm/base/random.cpp.
__device__ inline Words philox(uint64_t key, uint64_t counter, uint64_t stream = 0) {
  uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32),
           c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32),
           k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2),
                   l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

__device__ inline double open_uniform(uint32_t high, uint32_t low) {
  return static_cast<double>((static_cast<uint64_t>(high) << 20) | (low >> 12)) * 0x1p-52 + 0x1p-53;
}

/// Element `index` of the key's normal stream.
__device__ inline double normal_draw(uint64_t key, uint64_t index) {
  const Words w = philox(key, index / 2);
  const double r = sqrt(-2 * log(open_uniform(w.w[0], w.w[1]))), v = open_uniform(w.w[2], w.w[3]);
  const double s = sinpi(v), c = cospi(v);
  return r * (index % 2 == 0 ? 2 * s * c : 1 - 2 * s * s);
}

}  // namespace htfm::cuda
