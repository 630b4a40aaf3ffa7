// What the kernels of convolutions between few channels share. For .cu files only.
#pragma once

#include "htfm/net/norm_block_cuda.h"

namespace htfm::cuda {

using Bf16 = __nv_bfloat16;

constexpr int kTileWide = 16, kTileHigh = 32;                                           // pixels of a tile
constexpr int kInputWide = kTileWide + 2, kInputPixels = kInputWide * (kTileHigh + 2);  // with a rim of one pixel
constexpr int kTileChannels = 32;  // of the input at a time, and of a block's output
constexpr int kPitch = 40;  // elements from pixel to pixel: eight rows of 16 bytes, 80 apart, are in different banks
constexpr int kConvWarps = 8, kConvThreads = 32 * kConvWarps;
constexpr int kTileVectors = kTileChannels / 8;

// Four 8 x 8 matrices of shared memory, transposed or not; each lane names a row of one of them.
template <bool Transposed = false>
__device__ __forceinline__ void load_matrices(const Bf16* row, unsigned (&out)[4]) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
}

// sum += a b: 16 x 16 times 16 x 8.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace htfm::cuda
