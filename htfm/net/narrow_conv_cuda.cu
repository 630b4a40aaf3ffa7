// 3x3 convolutions between few channels of large images, bf16. Such a convolution is little more than a pass over
// memory, so the norm before it is done while its input is read: norm and convolution are one pass. A block computes a
// tile of pixels; its input lies in shared memory, 32 channels at a time, and warps multiply four rows of it each by
// the tensor cores.
#include "htfm/net/narrow_conv_cuda.h"
#include "htfm/net/norm_stream_cuda.h"
#include "htfm/net/norm_tiling_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int kRows = kTileHigh / kConvWarps;  // of a warp

// What a block computes: a tile of an image, some channels of it.
struct Tile {
  __device__ Tile(const NarrowConvArgs& c) {
    const int outs = c.out / kTileChannels, place = static_cast<int>(blockIdx.x) / outs, across = c.width / kTileWide;
    out = static_cast<int>(blockIdx.x) % outs * kTileChannels;
    x = place % across * kTileWide, y = place / across * kTileHigh;
  }
  int x, y, out;
  int64_t n = blockIdx.y;
};

// The weights from channel `first` of the input on: 9 taps x 32 outputs x 32 inputs.
__device__ void load_weights(const NarrowConvArgs& c, const Tile& tile, int first, Bf16* weights) {
  for (int i = static_cast<int>(threadIdx.x); i < 9 * kTileChannels * kTileVectors; i += kConvThreads) {
    const int v = i % kTileVectors * 8, o = i / kTileVectors % kTileChannels, tap = i / (kTileVectors * kTileChannels);
    const Bf16* from =
        static_cast<const Bf16*>(c.weight) + (static_cast<int64_t>(tile.out + o) * 9 + tap) * c.in + first + v;
    store_vector(weights + (tap * kTileChannels + o) * kPitch + v, load_vector(from));
  }
}

// Slope and offset of eight channels, and what they make of values.
struct Activation {
  __device__ __forceinline__ Vector<Bf16> operator()(const Vector<Bf16>& raw) const {
    float value[8];
    unpack(raw, value);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float z = value[j] * slope[j] + offset[j];
      value[j] = silu_after ? silu<Bf16>(z) : z;
    }
    return pack<Bf16>(value);
  }
  float slope[8], offset[8];
  bool silu_after;
};

// 32 channels of the tile and of a rim of one pixel, which is zero outside the image; AtOnce vectors of a thread are on
// their way at a time.
template <bool Normed, int AtOnce>
__device__ __forceinline__ void load_input(const NarrowConvArgs& c, const Tile& tile, int first, const Activation& act,
                                           Bf16* input) {
  constexpr int kSteps = (kInputPixels * kTileVectors + kConvThreads - 1) / kConvThreads;
  const int v = static_cast<int>(threadIdx.x) % kTileVectors * 8;
  const Bf16* from = static_cast<const Bf16*>(c.x.data) + tile.n * c.x.sample + first + v;
#pragma unroll 1
  for (int step = 0; step < kSteps; step += AtOnce) {
    Vector<Bf16> value[AtOnce];
    const auto pixel = [&](int u) {
      return (static_cast<int>(threadIdx.x) + (step + u) * kConvThreads) / kTileVectors;
    };
    const auto place = [&](int p, int& x, int& y) {
      x = tile.x + p % kInputWide - 1, y = tile.y + p / kInputWide - 1;
      return p < kInputPixels && x >= 0 && x < c.width && y >= 0 && y < c.height;
    };
#pragma unroll
    for (int u = 0; u < AtOnce; ++u) {
      int x, y;
      value[u].bits = make_uint4(0, 0, 0, 0);
      if (place(pixel(u), x, y)) value[u] = load_vector(from + (static_cast<int64_t>(y) * c.width + x) * c.x.pixel);
    }
#pragma unroll
    for (int u = 0; u < AtOnce; ++u) {
      const int p = pixel(u);
      if (p >= kInputPixels) break;
      int x, y;
      const bool inside = place(p, x, y);
      if (Normed && inside) value[u] = act(value[u]);
      store_vector(input + p * kPitch + v, value[u]);
      if (!Normed || !c.kept || tile.out > 0) continue;
      if (x < tile.x || x >= tile.x + kTileWide || y < tile.y || y >= tile.y + kTileHigh) continue;
      Bf16* kept = static_cast<Bf16*>(c.kept) + ((tile.n * c.height + y) * c.width + x) * c.in + first + v;
      store_vector(kept, value[u]);
    }
  }
}

// Adds what 32 channels of the input give: rows of the warp x 4 times 8 outputs. A row of the input serves three rows
// of the output.
__device__ __forceinline__ void multiply(const Bf16* input, const Bf16* weights, float (&sum)[kRows][4][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int matrix = lane / 8, row = lane % 8;
  const Bf16* a = input + (warp * kRows * kInputWide + row + matrix % 2 * 8) * kPitch + matrix / 2 * 8;
  const Bf16* b = weights + (row + matrix / 2 * 8) * kPitch + matrix % 2 * 8;
#pragma unroll
  for (int kx = 0; kx < 3; ++kx) {
#pragma unroll
    for (int k = 0; k < kTileChannels; k += 16) {
      unsigned weight[3][2][4];
#pragma unroll
      for (int ky = 0; ky < 3; ++ky)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          load_matrices(b + ((ky * 3 + kx) * kTileChannels + half * 16) * kPitch + k, weight[ky][half]);
#pragma unroll
      for (int r = 0; r < kRows + 2; ++r) {
        unsigned pixels[4];
        load_matrices(a + (r * kInputWide + kx) * kPitch + k, pixels);
#pragma unroll
        for (int ky = 0; ky < 3; ++ky) {
          if (r < ky || r - ky >= kRows) continue;
#pragma unroll
          for (int o = 0; o < 4; ++o)
            multiply_add(sum[r - ky][o], pixels, weight[ky][o / 2][o % 2 * 2], weight[ky][o / 2][o % 2 * 2 + 1]);
        }
      }
    }
  }
}

__device__ __forceinline__ unsigned pick(const unsigned (&v)[4], int i) {
  return i & 2 ? (i & 1 ? v[3] : v[2]) : (i & 1 ? v[1] : v[0]);
}

// A lane has two channels of each eight of a pixel; four lanes exchange them so that each has eight neighbours.
__device__ __forceinline__ void store_sums(const NarrowConvArgs& c, const Tile& tile, const float (&sum)[kRows][4][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, part = lane % 4;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned own[4], got[4];
#pragma unroll
      for (int o = 0; o < 4; ++o) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(sum[r][o][2 * half], sum[r][o][2 * half + 1]);
        own[o] = *reinterpret_cast<const unsigned*>(&pair);
      }
      got[0] = pick(own, part);
#pragma unroll
      for (int other = 1; other < 4; ++other) got[other] = __shfl_xor_sync(0xffffffffu, pick(own, part ^ other), other);
      const int x = tile.x + lane / 4 + 8 * half, y = tile.y + warp * kRows + r;
      Bf16* to = static_cast<Bf16*>(c.y) + ((tile.n * c.height + y) * c.width + x) * c.out + tile.out + part * 8;
      store_vector(to, {make_uint4(pick(got, part), pick(got, part ^ 1), pick(got, part ^ 2), pick(got, part ^ 3))});
    }
  }
}

template <bool Normed, int Chunks>
__global__ void __launch_bounds__(kConvThreads, 2)
    narrow_conv_kernel(NarrowConvArgs c, NormForwardArgs norm, const float* partial, int parts) {
  extern __shared__ __align__(16) unsigned char memory[];
  Bf16 *input = reinterpret_cast<Bf16*>(memory), *weights = input + kInputPixels * kPitch;
  float *total = reinterpret_cast<float*>(weights + 9 * kTileChannels * kPitch), *coefficient = total + 2 * c.in;
  const Tile tile(c);
  if constexpr (Normed) {
    add_partials(partial, parts, 2 * c.in, total);
    forward_coefficients(norm, tile.n, 0, c.in, norm.x.data != nullptr, true, blockIdx.x == 0, total, coefficient);
  }
  float sum[kRows][4][4] = {};
#pragma unroll
  for (int chunk = 0; chunk < Chunks; ++chunk) {
    const int first = chunk * kTileChannels;
    if (chunk > 0) __syncthreads();  // the channels before have been used
    Activation act;
    if constexpr (Normed) {
      const int channel = first + static_cast<int>(threadIdx.x) % kTileVectors * 8;
      load_floats(coefficient + channel, act.slope);
      load_floats(coefficient + c.in + channel, act.offset);
      act.silu_after = norm.silu;
    }
    load_weights(c, tile, first, weights);
    // Later chunks are read while the sums take half of the registers.
    if (chunk == 0)
      load_input<Normed, 5>(c, tile, first, act, input);
    else
      load_input<Normed, 2>(c, tile, first, act, input);
    __syncthreads();
    multiply(input, weights, sum);
  }
  store_sums(c, tile, sum);
}

template <bool Normed>
void launch(const NarrowConvArgs& c, const NormForwardArgs& norm, int parts, cudaStream_t stream) {
  const size_t bytes =
      static_cast<size_t>(kInputPixels + 9 * kTileChannels) * kPitch * sizeof(Bf16) + static_cast<size_t>(4 * c.in) * 4;
  const auto kernel = c.in == kTileChannels ? narrow_conv_kernel<Normed, 1> : narrow_conv_kernel<Normed, 2>;
  if (!allow_shared(kernel, bytes)) throw std::runtime_error("[cuda] convolution: too little shared memory");
  const dim3 grid(static_cast<unsigned>(c.width / kTileWide * (c.height / kTileHigh) * (c.out / kTileChannels)),
                  static_cast<unsigned>(c.samples));
  kernel<<<grid, kConvThreads, bytes, stream>>>(c, norm, norm.workspace, parts);
  check(cudaGetLastError(), "convolution");
}

}  // namespace

bool is_narrow_conv(Type type, int height, int width, int in, int out) {
  return type == Type::bfloat16 && height % kTileHigh == 0 && width % kTileWide == 0 && in % kTileChannels == 0 &&
         out % kTileChannels == 0 && in + out <= 3 * kTileChannels;
}

void narrow_conv(const NarrowConvArgs& args, cudaStream_t stream) { launch<false>(args, {}, 0, stream); }

void narrow_norm_conv(const NormForwardArgs& norm, const NarrowConvArgs& args, cudaStream_t stream) {
  NarrowConvArgs c = args;
  c.x = norm.x.data ? norm.x : Strided{const_cast<void*>(norm.y), norm.fresh, int64_t{norm.pixels} * norm.fresh};
  launch<true>(c, norm, stream_moments(norm, stream), stream);
}

}  // namespace htfm::cuda
