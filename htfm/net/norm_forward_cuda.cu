// Group norm + scale/shift + SiLU in one pass over memory each way. A tile is one sample and some whole groups; its
// values stay in registers between the statistics and the result, so every tensor is read once. Where two tensors are
// read (a residual), a block fetches its next tile into shared memory while it computes this one (Ahead). Where a tile
// does not fit (V = 0), it is read again; large images go through two passes (norm_stream_cuda.cu).
#include <algorithm>
#include <stdexcept>

#include "htfm/net/norm_block_cuda.h"
#include "htfm/net/norm_stream_cuda.h"
#include "htfm/net/norm_tiling_cuda.h"

namespace htfm::cuda {
namespace {

__device__ __forceinline__ void copy_ahead(uint4* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from));
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Which tile a block is at.
struct Place {
  __device__ Place(int tile, int channels, int chunk, int v)
      : n(tile / (channels / chunk)), first(tile % (channels / chunk) * chunk), channel(first + v * 8) {}
  int64_t n;
  int first, channel;  // of the tile, of the thread
};

template <class T, int V, bool Ahead>
__global__ void __launch_bounds__(kNormThreads, 2)
    forward_kernel(NormForwardArgs a, int chunk, int tiles, int shared_floats) {
  extern __shared__ __align__(16) float shared[];
  constexpr int kept = V > 0 ? V : 1;
  const int threads = static_cast<int>(blockDim.x), vectors = chunk / 8, v = static_cast<int>(threadIdx.x) % vectors,
            row = static_cast<int>(threadIdx.x) / vectors, rows = threads / vectors, group = a.channels / a.groups;
  float* total = shared;                    // sums, squares
  float* coefficient = shared + 2 * chunk;  // slope, offset
  float* scratch = shared + 4 * chunk;
  uint4* ahead = reinterpret_cast<uint4*>(shared + shared_floats) + threadIdx.x;  // what this thread fetches for itself
  const T* y = static_cast<const T*>(a.y);
  const T* residual = static_cast<const T*>(a.residual.data);
  T* x = static_cast<T*>(a.x.data);
  const bool rounded = residual != nullptr || x != nullptr;
  const float inverse_count = 1.0f / (static_cast<float>(a.pixels) * static_cast<float>(group));

  const auto at_y = [&](const Place& at, int p) { return y + (at.n * a.pixels + p) * a.fresh + at.channel; };
  const auto at_x = [&](const Place& at, int p) { return x + at.n * a.x.sample + p * a.x.pixel + at.channel; };
  const auto at_residual = [&](const Place& at, int p) {
    return residual + at.n * a.residual.sample + p * a.residual.pixel + at.channel;
  };
  const auto is_fresh = [&](const Place& at) { return y != nullptr && at.channel < a.fresh; };
  const auto fetch = [&](int tile) {
    const Place at(tile, a.channels, chunk, v);
    const bool fresh = is_fresh(at);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const int p = row + i * rows;
      if (p >= a.pixels) break;
      copy_ahead(ahead + i * threads, fresh ? at_y(at, p) : at_x(at, p));
      if (fresh && residual) copy_ahead(ahead + (V + i) * threads, at_residual(at, p));
    }
  };
  int tile = static_cast<int>(blockIdx.x);
  if constexpr (Ahead) {
    if (tile < tiles) fetch(tile);
  }
  for (; tile < tiles; tile += static_cast<int>(gridDim.x)) {
    const Place at(tile, a.channels, chunk, v);
    const bool fresh = is_fresh(at), late_bias = fresh && !rounded;
    float bias[8] = {};
    if (fresh)
      for (int k = 0; k < 2; ++k)
        if (a.bias[k]) add_floats(a.bias[k] + at.channel, bias);
    // The input at a pixel: as it is stored, so without the bias where nothing is stored.
    const auto sum_up = [&](Vector<T> raw, const auto& more_of, int p, bool store) -> Vector<T> {
      if (!fresh || !rounded) return raw;
      float value[8];
      unpack(raw, value);
#pragma unroll
      for (int j = 0; j < 8; ++j) value[j] += bias[j];
      if (residual) {
        float more[8];
        unpack(more_of(), more);
#pragma unroll
        for (int j = 0; j < 8; ++j) value[j] += more[j];
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) value[j] *= a.scale;
      raw = pack<T>(value);
      if (x && store) store_vector(at_x(at, p), raw);
      return raw;
    };
    const auto load = [&](int p, bool store) {
      return sum_up(
          load_vector(fresh ? at_y(at, p) : static_cast<const T*>(at_x(at, p))),
          [&] { return load_vector(at_residual(at, p)); }, p, store);
    };

    Vector<T> kept_values[kept];
    if constexpr (Ahead) {
      wait_for_copies();
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const int p = row + i * rows;
        if (p < a.pixels)
          kept_values[i] = sum_up(
              {ahead[i * threads]}, [&] { return Vector<T>{ahead[(V + i) * threads]}; }, p, true);
      }
      if (tile + static_cast<int>(gridDim.x) < tiles) fetch(tile + static_cast<int>(gridDim.x));
    } else if constexpr (V > 0) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const int p = row + i * rows;
        if (p < a.pixels) kept_values[i] = load(p, true);
      }
    } else if (fresh && x) {
      for (int p = row; p < a.pixels; p += rows) load(p, true);
    }
    const auto each = [&](auto&& body) {
      if constexpr (V > 0) {
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const int p = row + i * rows;
          if (p < a.pixels) body(p, kept_values[i]);
        }
      } else {
        for (int p = row; p < a.pixels; p += rows) body(p, load(p, false));
      }
    };
    if constexpr (V > 0) {
      // Both moments at once: the values are bfloat16, so the difference of squares is exact enough in float32.
      float sums[2][8] = {};
      each([&](int, const Vector<T>& raw) {
        float value[8];
        unpack(raw, value);
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[0][j] += value[j], sums[1][j] += value[j] * value[j];
      });
      block_sums<2>(sums, vectors, chunk, scratch, total);
    } else {
      float sums[1][8] = {}, mean[8];
      const auto with_bias = [&](const Vector<T>& raw, float(&value)[8]) {
        unpack(raw, value);
        if (late_bias)
#pragma unroll
          for (int j = 0; j < 8; ++j) value[j] += bias[j];
      };
      each([&](int, const Vector<T>& raw) {
        float value[8];
        with_bias(raw, value);
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[0][j] += value[j];
      });
      block_sums<1>(sums, vectors, chunk, scratch, total);
#pragma unroll
      for (int j = 0; j < 8; ++j) mean[j] = group_sum(total, v * 8 + j, group) * inverse_count, sums[0][j] = 0;
      each([&](int, const Vector<T>& raw) {
        float value[8];
        with_bias(raw, value);
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[0][j] += (value[j] - mean[j]) * (value[j] - mean[j]);
      });
      block_sums<1>(sums, vectors, chunk, scratch, total + chunk);
    }
    forward_coefficients(a, at.n, at.first, chunk, rounded, V > 0, true, total, coefficient);
    float slope[8], offset[8];
    load_floats(coefficient + v * 8, slope);
    load_floats(coefficient + chunk + v * 8, offset);
    const int64_t out = at.n * a.pixels * static_cast<int64_t>(a.channels) + at.channel;
    each([&](int p, const Vector<T>& raw) {
      float value[8];
      unpack(raw, value);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float z = value[j] * slope[j] + offset[j];
        value[j] = a.silu ? silu<T>(z) : z;
      }
      store_result<T>(a, out + static_cast<int64_t>(p) * a.channels, value);
    });
  }
}

template <class T, int V>
void launch_forward(const NormForwardArgs& a, const Tiling& t, cudaStream_t stream) {
  const int floats = (t.shared_floats + 3) / 4 * 4, tiles = a.channels / t.chunk * a.samples;
  const size_t bytes = static_cast<size_t>(floats) * sizeof(float);
  if constexpr (V > 0) {
    // As many blocks as the device holds; with one a multiprocessor it would wait for itself at every barrier.
    const auto kernel = forward_kernel<T, V, true>;
    const size_t with_ahead = bytes + static_cast<size_t>(2 * V * t.threads) * 16;
    int resident = 0;
    if (a.residual.data && allow_shared(kernel, with_ahead))
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, t.threads, with_ahead), "norm");
    if (resident >= 2) {
      static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
      const int blocks = std::min(tiles, resident * multiprocessors);
      kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(t.threads), with_ahead, stream>>>(a, t.chunk, tiles,
                                                                                                      floats);
      return check(cudaGetLastError(), "norm");
    }
  }
  const auto kernel = forward_kernel<T, V, false>;
  if (!allow_shared(kernel, bytes)) throw std::runtime_error("[cuda] norm: the device is too small");
  kernel<<<static_cast<unsigned>(tiles), static_cast<unsigned>(t.threads), bytes, stream>>>(a, t.chunk, tiles, floats);
  check(cudaGetLastError(), "norm");
}

}  // namespace

void norm_forward(const NormForwardArgs& a, cudaStream_t stream) {
  if (takes_turns(a.type, a.pixels, a.channels)) return turns_forward(a, stream);
  if (streams(a.type, a.pixels, a.channels)) return stream_forward(a, stream);
  const Tiling t = tile_alone(a.pixels, a.channels, a.groups);
  if (a.type == Type::float32) return launch_forward<float, 0>(a, t, stream);
  using B = __nv_bfloat16;
  if (t.per_thread <= 1) return launch_forward<B, 1>(a, t, stream);
  if (t.per_thread <= 2) return launch_forward<B, 2>(a, t, stream);
  if (t.per_thread <= 4) return launch_forward<B, 4>(a, t, stream);
  if (t.per_thread <= 8) return launch_forward<B, 8>(a, t, stream);
  if (t.per_thread <= 16) return launch_forward<B, 16>(a, t, stream);
  launch_forward<B, 0>(a, t, stream);
}

}  // namespace htfm::cuda
