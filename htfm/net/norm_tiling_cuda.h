// How a norm is cut into blocks, and how these are started.
#pragma once

#include <cstddef>

#include "htfm/net/image_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {

constexpr int kNormThreads = 384;  ///< a block at the most
constexpr int kTeamThreads = 256;  ///< a block of a team at the most

/// Blocks of whole pixels; a tile is one sample and `chunk` channels.
struct Tiling {
  int chunk, threads, per_thread, shared_floats;  ///< the last without what is fetched ahead
  int team = 1;                                   ///< blocks a tile
};

/// One block a tile.
Tiling tile_alone(int pixels, int channels, int groups);
/// The smallest team whose threads keep at most V vectors; team = 1 where clusters of blocks do not exist or would be too large.
Tiling tile_for_team(int pixels, int channels, int groups, int V, int largest);
int device_attribute(cudaDeviceAttr attribute);

/// Whether a block may have so much shared memory.
template <class Kernel>
bool allow_shared(Kernel kernel, size_t bytes) {
  if (bytes <= 48 * 1024 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) == cudaSuccess)
    return true;
  cudaGetLastError();
  return false;
}

/// Starts `grid` teams; false where the device cannot hold one.
template <class... Parameters, class... Arguments>
bool launch_team(void (*kernel)(Parameters...), dim3 grid, const Tiling& t, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(t.team), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid.x * static_cast<unsigned>(t.team), grid.y), config.blockDim = dim3(static_cast<unsigned>(t.threads));
  config.dynamicSmemBytes = static_cast<size_t>(t.shared_floats) * sizeof(float), config.stream = stream;
  config.attrs = &cluster, config.numAttrs = 1;
  constexpr int kPortable = 8;
  int fit = 0;
  if ((t.team > kPortable && cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess) ||
      cudaOccupancyMaxActiveClusters(&fit, kernel, &config) != cudaSuccess || fit == 0) {
    cudaGetLastError();
    return false;
  }
  check(cudaLaunchKernelEx(&config, kernel, arguments...), "norm");
  return true;
}

}  // namespace htfm::cuda
