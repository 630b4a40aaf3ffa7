// How a norm is cut into blocks, and how these are started.
#pragma once

#include <cstddef>

#include "htfm/net/image_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {

constexpr int kNormThreads = 384;   ///< a block at the most
constexpr int kSmallThreads = 256;  ///< of the smaller blocks

/// Blocks of whole pixels; a tile is one sample and `chunk` channels.
struct Tiling {
  int chunk, threads, per_thread, shared_floats;  ///< the last without what is fetched ahead
};

/// One block a tile.
Tiling tile_alone(int pixels, int channels, int groups);
int device_attribute(cudaDeviceAttr attribute);

/// Whether a block may have so much shared memory, beside its fixed variables. 48 KiB in all need no permission.
template <class Kernel>
bool allow_shared(Kernel kernel, size_t bytes) {
  if (bytes <= 47 * 1024 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) == cudaSuccess)
    return true;
  cudaGetLastError();
  return false;
}

}  // namespace htfm::cuda
