// What the blocks of a norm share: activations, sums over a block and over the blocks of a cluster.
#pragma once

#include <cooperative_groups.h>
#include <cuda_bf16.h>

#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {

template <class T>
__device__ __forceinline__ float sigmoid(float z) {
  return 1.0f / (1.0f + __expf(-z));
}
// One instruction of the special unit instead of two, with 11 bits: more than the result keeps.
__device__ __forceinline__ float tanh_of(float z) {
  float t;
  asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(z));
  return t;
}
template <>
__device__ __forceinline__ float sigmoid<__nv_bfloat16>(float z) {
  return 0.5f * tanh_of(0.5f * z) + 0.5f;
}

template <class T>
__device__ __forceinline__ float silu(float z) {
  return z * sigmoid<T>(z);
}
template <>
__device__ __forceinline__ float silu<__nv_bfloat16>(float z) {
  const float h = 0.5f * z;
  return h * tanh_of(h) + h;
}

// Adds M values over the lanes that differ in the bits from `offset` up, and writes the totals. Each exchange halves what a lane looks
// after.
template <int M, class Write>
__device__ __forceinline__ void fold(float* value, int offset, int base, Write&& write) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (M == 1) {
    bool mine = true;
    for (; offset < 32; offset *= 2) {
      value[0] += __shfl_xor_sync(0xffffffffu, value[0], offset);
      mine = mine && (lane & offset) == 0;
    }
    if (mine) write(base, value[0]);
  } else {
    if (offset >= 32) {
#pragma unroll
      for (int k = 0; k < M; ++k) write(base + k, value[k]);
      return;
    }
    const bool upper = (lane & offset) != 0;
#pragma unroll
    for (int k = 0; k < M / 2; ++k) {
      const float away = upper ? value[k] : value[k + M / 2], here = upper ? value[k + M / 2] : value[k];
      value[k] = here + __shfl_xor_sync(0xffffffffu, away, offset);
    }
    fold<M / 2>(value, offset * 2, base + (upper ? M / 2 : 0), write);
  }
}

// Sums over the rows of a block of `Count` values for each of 8 channels; total[value * chunk + channel] holds the result for all.
// `scratch` has room for rows x chunk x Count floats where lanes of a warp cannot be folded, warps x chunk x Count otherwise.
template <int Count>
__device__ void block_sums(float (&value)[Count][8], int vectors, int chunk, float* scratch, float* total) {
  const int v = static_cast<int>(threadIdx.x) % vectors;
  int rows;
  if (vectors <= 32 && (vectors & (vectors - 1)) == 0) {
    rows = static_cast<int>(blockDim.x) / 32;
    float* own = scratch + static_cast<int>(threadIdx.x) / 32 * Count * chunk + v * 8;
    fold<Count * 8>(&value[0][0], vectors, 0, [&](int i, float sum) { own[i / 8 * chunk + i % 8] = sum; });
  } else {
    rows = static_cast<int>(blockDim.x) / vectors;
    float* own = scratch + static_cast<int>(threadIdx.x) / vectors * Count * chunk + v * 8;
#pragma unroll
    for (int k = 0; k < Count; ++k)
#pragma unroll
      for (int j = 0; j < 8; ++j) own[k * chunk + j] = value[k][j];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < Count * chunk; i += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int r = 0; r < rows; ++r) sum += scratch[r * Count * chunk + i];
    total[i] = sum;
  }
  __syncthreads();
}

// The blocks of a cluster that share a tile, each with its own pixels; a block alone where Cluster is false.
template <bool Cluster>
struct Team {
  __device__ Team(int pixels, int size) : end(pixels) {
    if constexpr (Cluster) {
      const int each = (pixels + size - 1) / size;
      rank = static_cast<int>(blockIdx.x) % size, count = size, begin = rank * each, end = min(pixels, begin + each);
    }
  }
  __device__ bool leads() const { return rank == 0; }
  // Until every block of the team is here, and what it wrote to its shared memory can be seen.
  __device__ void meet() const {
#if __CUDA_ARCH__ >= 900
    if constexpr (Cluster) cooperative_groups::this_cluster().sync();
#endif
  }
  // Adds up `total` over the team, in the same order in every block. The caller meets the others before it writes to `total` again.
  __device__ void add_up(float* total, float* scratch, int values) const {
#if __CUDA_ARCH__ >= 900
    if constexpr (Cluster) {
      meet();
      for (int i = static_cast<int>(threadIdx.x); i < values; i += static_cast<int>(blockDim.x)) {
        float sum = 0;
        for (int r = 0; r < count; ++r) sum += *cooperative_groups::this_cluster().map_shared_rank(total + i, static_cast<unsigned>(r));
        scratch[i] = sum;
      }
      meet();
      for (int i = static_cast<int>(threadIdx.x); i < values; i += static_cast<int>(blockDim.x)) total[i] = scratch[i];
      __syncthreads();
    }
#endif
  }
  int rank = 0, count = 1, begin = 0, end;
};

// The sum over the group of channel i.
__device__ __forceinline__ float group_sum(const float* total, int i, int group) {
  float sum = 0;
  const int first = i / group * group;
  for (int j = 0; j < group; ++j) sum += total[first + j];
  return sum;
}

__device__ __forceinline__ void load_floats(const float* p, float (&out)[8]) {
  const float4 low = *reinterpret_cast<const float4*>(p), high = *reinterpret_cast<const float4*>(p + 4);
  out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w, out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
}

}  // namespace htfm::cuda
