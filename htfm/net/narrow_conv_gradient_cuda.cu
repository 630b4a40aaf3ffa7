// The gradient of the weights of a 3x3 convolution between few channels of large images, bf16: a product of the
// output's gradient and the input, over all pixels, for each tap. A block walks over tiles of pixels and keeps its sums
// in registers; the sums of blocks are added at the end, in their order.
#include <algorithm>

#include "htfm/net/narrow_conv_cuda.h"
#include "htfm/net/norm_tiling_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int kTaps = 9, kWeights = kTaps * kTileChannels * kTileChannels;
constexpr int kTilePixels = kTileWide * kTileHigh;
constexpr int kAddedThreads = 32, kAddedParts = 8;  // of a block that adds sums of blocks

// 16 bytes from global to shared memory, zeros where there is nothing to read; done after `wait_for_copies`.
__device__ __forceinline__ void copy_vector(Bf16* to, const Bf16* from, bool there) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(there ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The channels that a block looks after, of input and output, and its tiles.
struct Share {
  __device__ Share(const NarrowConvGradientArgs& c) {
    const int ins = c.in / kTileChannels;
    in = static_cast<int>(blockIdx.y) % ins * kTileChannels, out = static_cast<int>(blockIdx.y) / ins * kTileChannels;
    across = c.width / kTileWide, each = across * (c.height / kTileHigh), tiles = each * c.samples;
  }
  int in, out, across, each, tiles;
};

__device__ __forceinline__ void copy_tile(const NarrowConvGradientArgs& c, const Share& share, int tile, Bf16* input,
                                          Bf16* gradient) {
  const int64_t n = tile / share.each;
  const int x0 = tile % share.each % share.across * kTileWide, y0 = tile % share.each / share.across * kTileHigh;
  const int v = static_cast<int>(threadIdx.x) % kTileVectors * 8, own = static_cast<int>(threadIdx.x) / kTileVectors;
  const Bf16* x_from = static_cast<const Bf16*>(c.x.data) + n * c.x.sample + share.in + v;
  const Bf16* dy_from = static_cast<const Bf16*>(c.dy) + n * c.height * c.width * c.out + share.out + v;
  for (int p = own; p < kInputPixels; p += kConvThreads / kTileVectors) {
    const int x = x0 + p % kInputWide - 1, y = y0 + p / kInputWide - 1;
    const bool there = x >= 0 && x < c.width && y >= 0 && y < c.height;
    copy_vector(input + p * kPitch + v, x_from + (there ? (static_cast<int64_t>(y) * c.width + x) * c.x.pixel : 0),
                there);
  }
  for (int p = own; p < kTilePixels; p += kConvThreads / kTileVectors) {
    const int64_t pixel = static_cast<int64_t>(y0 + p / kTileWide) * c.width + x0 + p % kTileWide;
    copy_vector(gradient + p * kPitch + v, dy_from + pixel * c.out, true);
  }
}

// Adds what a tile gives, for 16 outputs and 8 inputs of the warp. A row of the input meets three rows of the gradient.
__device__ __forceinline__ void multiply(const Bf16* input, const Bf16* gradient, float (&sum)[kTaps][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int matrix = lane / 8, row = lane % 8;
  const Bf16* a = gradient + (row + matrix / 2 * 8) * kPitch + warp / 4 * 16 + matrix % 2 * 8;
  // Two matrices each of the taps 0 and 1 of a row; of tap 2, and once more.
  const Bf16* b = input + (row + matrix % 2 * 8 + matrix / 2) * kPitch + warp % 4 * 8;
  const Bf16* b2 = input + (row + matrix % 2 * 8 + 2) * kPitch + warp % 4 * 8;
  unsigned dy[3][4] = {};  // of the rows r, r - 1, r - 2
#pragma unroll
  for (int r = 0; r < kTileHigh + 2; ++r) {
    if (r < kTileHigh) load_matrices<true>(a + r * kTileWide * kPitch, dy[r % 3]);
    unsigned x[2][4];
    load_matrices<true>(b + r * kInputWide * kPitch, x[0]);
    load_matrices<true>(b2 + r * kInputWide * kPitch, x[1]);
#pragma unroll
    for (int ky = 0; ky < 3; ++ky) {
      if (r < ky || r - ky >= kTileHigh) continue;
#pragma unroll
      for (int kx = 0; kx < 3; ++kx)
        multiply_add(sum[ky * 3 + kx], dy[(r - ky) % 3], x[kx / 2][kx % 2 * 2], x[kx / 2][kx % 2 * 2 + 1]);
    }
  }
}

__global__ void __launch_bounds__(kConvThreads, 2) narrow_gradient_kernel(NarrowConvGradientArgs c) {
  extern __shared__ __align__(16) unsigned char memory[];
  Bf16 *input = reinterpret_cast<Bf16*>(memory), *gradient = input + kInputPixels * kPitch;
  const Share share(c);
  float sum[kTaps][4] = {};
#pragma unroll 1
  for (int tile = static_cast<int>(blockIdx.x); tile < share.tiles; tile += static_cast<int>(gridDim.x)) {
    __syncthreads();  // the tile before has been used
    copy_tile(c, share, tile, input, gradient);
    wait_for_copies();
    __syncthreads();
    multiply(input, gradient, sum);
  }
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int o = warp / 4 * 16 + lane / 4, i = warp % 4 * 8 + lane % 4 * 2;
  float* own = c.workspace + (static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x) * kWeights;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      *reinterpret_cast<float2*>(own + ((o + 8 * half) * kTaps + tap) * kTileChannels + i) =
          make_float2(sum[tap][2 * half], sum[tap][2 * half + 1]);
}

// Adds the sums of blocks: a thread a weight, eight of them sharing the blocks.
__global__ void add_gradients_kernel(NarrowConvGradientArgs c, int blocks) {
  __shared__ float shared[kAddedParts][kAddedThreads];
  const int weight = static_cast<int>(blockIdx.x) * kAddedThreads + static_cast<int>(threadIdx.x);
  const int part = static_cast<int>(threadIdx.y);
  const Share share(c);
  const float* from = c.workspace + static_cast<int64_t>(blockIdx.y) * blocks * kWeights + weight;
  float sum = 0;
  for (int k = part; k < blocks; k += kAddedParts) sum += from[static_cast<int64_t>(k) * kWeights];
  shared[part][threadIdx.x] = sum;
  __syncthreads();
  if (part > 0) return;
  for (int k = 1; k < kAddedParts; ++k) sum += shared[k][threadIdx.x];
  const int o = weight / (kTaps * kTileChannels), tap = weight / kTileChannels % kTaps, i = weight % kTileChannels;
  c.weight_gradient[(static_cast<int64_t>(share.out + o) * kTaps + tap) * c.in + share.in + i] = sum;
}

int blocks_of(const NarrowConvGradientArgs& c) {
  const int tiles = c.width / kTileWide * (c.height / kTileHigh) * c.samples;
  return std::min(tiles, 2 * device_attribute(cudaDevAttrMultiProcessorCount));
}

unsigned shares_of(const NarrowConvGradientArgs& c) {
  return static_cast<unsigned>(c.in / kTileChannels * (c.out / kTileChannels));
}

}  // namespace

int64_t narrow_gradient_workspace(const NarrowConvGradientArgs& c) {
  return static_cast<int64_t>(blocks_of(c)) * shares_of(c) * kWeights;
}

void narrow_conv_gradient(const NarrowConvGradientArgs& c, cudaStream_t stream) {
  constexpr size_t bytes = static_cast<size_t>(kInputPixels + kTilePixels) * kPitch * sizeof(Bf16);
  if (!allow_shared(narrow_gradient_kernel, bytes))
    throw std::runtime_error("[cuda] convolution: too little shared memory");
  const int blocks = blocks_of(c);
  narrow_gradient_kernel<<<dim3(static_cast<unsigned>(blocks), shares_of(c)), kConvThreads, bytes, stream>>>(c);
  add_gradients_kernel<<<dim3(kWeights / kAddedThreads, shares_of(c)), dim3(kAddedThreads, kAddedParts), 0, stream>>>(
      c, blocks);
  check(cudaGetLastError(), "convolution");
}

}  // namespace htfm::cuda
