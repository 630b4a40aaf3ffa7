// Group norm + scale/shift + SiLU in one pass over memory each way. A tile is one sample and some whole groups; its values stay in
// registers between the statistics and the result, so every tensor is read once. Where two tensors are read (a residual), a block fetches
// its next tile into shared memory while it computes this one (Ahead). Where a tile does not fit (V = 0), it is read again.
#include <cuda_bf16.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "htfm/net/image_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int kMaxChunk = 512;  // channels a block
constexpr int kThreads = 384;   // a block at the most
constexpr float kEpsilon = 1e-5f;

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

__device__ __forceinline__ void copy_ahead(uint4* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from));
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

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

struct Tiling {
  int chunk, threads, per_thread, shared_floats;  // the last without what is fetched ahead
};

// Which tile a block is at.
struct Place {
  __device__ Place(int tile, int channels, int chunk, int v)
      : n(tile / (channels / chunk)), first(tile % (channels / chunk) * chunk), channel(first + v * 8) {}
  int64_t n;
  int first, channel;  // of the tile, of the thread
};

template <class T, int V, bool Ahead>
__global__ void __launch_bounds__(kThreads, 2) forward_kernel(NormForwardArgs a, int chunk, int tiles, int shared_floats) {
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
  const auto at_residual = [&](const Place& at, int p) { return residual + at.n * a.residual.sample + p * a.residual.pixel + at.channel; };
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
          load_vector(fresh ? at_y(at, p) : static_cast<const T*>(at_x(at, p))), [&] { return load_vector(at_residual(at, p)); }, p, store);
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
    const auto bias_of = [&](int i) {  // where it is not in the values
      const int c = at.first + i;
      return y && c < a.fresh && !rounded ? (a.bias[0] ? a.bias[0][c] : 0.0f) + (a.bias[1] ? a.bias[1][c] : 0.0f) : 0.0f;
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
      if (!rounded) {
        const float count = static_cast<float>(a.pixels);
        for (int i = static_cast<int>(threadIdx.x); i < chunk; i += threads) {
          const float b = bias_of(i);
          total[chunk + i] += b * (2 * total[i] + count * b);
          total[i] += count * b;
        }
        __syncthreads();
      }
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
    for (int i = static_cast<int>(threadIdx.x); i < chunk; i += threads) {
      const int c = at.first + i;
      const float mean = group_sum(total, i, group) * inverse_count, square = group_sum(total + chunk, i, group) * inverse_count;
      const float inverse = rsqrtf((V > 0 ? fmaxf(square - mean * mean, 0.0f) : square) + kEpsilon);
      float slope = a.gamma[c], offset = a.beta[c];
      if (a.modulation) {
        const float* m = a.modulation + at.n * a.modulation_row;
        slope *= 1 + m[c];
        offset = offset * (1 + m[c]) + m[a.channels + c];
      }
      coefficient[i] = slope * inverse;
      coefficient[chunk + i] = offset + (bias_of(i) - mean) * slope * inverse;
      if (a.mean && c % group == 0) {
        a.mean[at.n * a.groups + c / group] = mean;
        a.inverse[at.n * a.groups + c / group] = inverse;
      }
    }
    __syncthreads();
    float slope[8], offset[8];
    load_floats(coefficient + v * 8, slope);
    load_floats(coefficient + chunk + v * 8, offset);
    T* out = static_cast<T*>(a.out) + at.n * a.pixels * static_cast<int64_t>(a.channels) + at.channel;
    each([&](int p, const Vector<T>& raw) {
      float value[8];
      unpack(raw, value);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float z = value[j] * slope[j] + offset[j];
        value[j] = a.silu ? silu<T>(z) : z;
      }
      store_vector(out + static_cast<int64_t>(p) * a.channels, pack<T>(value));
    });
  }
}

// With z = A x + B the gradient of the input is A dz + C x + D, channel by channel.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads, Threads <= 256 ? 2 : 1) backward_kernel(NormBackwardArgs a, int chunk) {
  extern __shared__ float shared[];
  constexpr int kept = V > 0 ? V : 1;
  const int vectors = chunk / 8, v = static_cast<int>(threadIdx.x) % vectors, row = static_cast<int>(threadIdx.x) / vectors,
            rows = static_cast<int>(blockDim.x) / vectors, group = a.channels / a.groups;
  const int64_t n = blockIdx.y;
  const int first_channel = static_cast<int>(blockIdx.x) * chunk, channel = first_channel + v * 8;
  float* total = shared;                    // of dz, of dz x; then of these over groups
  float* coefficient = shared + 2 * chunk;  // A, B; then C, D
  float* scratch = shared + 4 * chunk;
  const T* x = static_cast<const T*>(a.x.data) + n * a.x.sample + channel;
  const T* dy = static_cast<const T*>(a.gradient) + n * a.pixels * static_cast<int64_t>(a.channels) + channel;

  Vector<T> kept_x[kept], kept_dy[kept];
  if constexpr (V > 0) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const int p = row + i * rows;
      if (p < a.pixels) kept_x[i] = load_vector(x + p * a.x.pixel), kept_dy[i] = load_vector(dy + static_cast<int64_t>(p) * a.channels);
    }
  }
  // The norm of channel i: normed = inverse x + centre.
  const auto inverse_of = [&](int i) { return a.inverse[n * a.groups + (first_channel + i) / group]; };
  const auto centre_of = [&](int i) {
    const int c = first_channel + i;
    return ((a.bias ? a.bias[c] : 0.0f) - a.mean[n * a.groups + c / group]) * inverse_of(i);
  };
  const auto scale_of = [&](int i) { return a.modulation ? 1 + a.modulation[n * a.modulation_row + first_channel + i] : 1.0f; };
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += static_cast<int>(blockDim.x)) {
    const int c = first_channel + i;
    const float scale = scale_of(i), slope = a.gamma[c] * scale;
    const float offset = a.beta[c] * scale + (a.modulation ? a.modulation[n * a.modulation_row + a.channels + c] : 0.0f);
    coefficient[i] = slope * inverse_of(i);
    coefficient[chunk + i] = slope * centre_of(i) + offset;
  }
  __syncthreads();
  float A[8], B[8];
  load_floats(coefficient + v * 8, A);
  load_floats(coefficient + chunk + v * 8, B);
  const auto each = [&](auto&& body) {
    if constexpr (V > 0) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const int p = row + i * rows;
        if (p < a.pixels) body(p, kept_x[i], kept_dy[i]);
      }
    } else {
      for (int p = row; p < a.pixels; p += rows)
        body(p, load_vector(x + p * a.x.pixel), load_vector(dy + static_cast<int64_t>(p) * a.channels));
    }
  };
  const auto gradient_of_z = [&](float z, float d) {
    if (!a.silu) return d;
    const float s = sigmoid<T>(z);
    return d * s * (1 + z * (1 - s));
  };
  float sums[2][8] = {};
  each([&](int, const Vector<T>& raw_x, const Vector<T>& raw_dy) {
    float value[8], d[8];
    unpack(raw_x, value);
    unpack(raw_dy, d);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float dz = gradient_of_z(A[j] * value[j] + B[j], d[j]);
      sums[0][j] += dz;
      sums[1][j] += dz * value[j];
    }
  });
  block_sums<2>(sums, vectors, chunk, scratch, total);
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += static_cast<int>(blockDim.x)) {
    const int c = first_channel + i;
    const float scale = scale_of(i), gamma = a.gamma[c], plain = total[i],
                weighted = inverse_of(i) * total[chunk + i] + centre_of(i) * plain;
    float* out = a.sums + n * a.width;
    if (a.column_gamma >= 0) out[a.column_gamma + c] = weighted * scale;
    if (a.column_beta >= 0) out[a.column_beta + c] = plain * scale;
    if (a.modulation_gradient) {
      float* m = a.modulation_gradient + n * a.modulation_gradient_row;
      m[c] = weighted * gamma + plain * a.beta[c];
      m[a.channels + c] = plain;
    }
    total[i] = plain * gamma * scale;
    total[chunk + i] = weighted * gamma * scale;
  }
  __syncthreads();
  const float inverse_count = 1.0f / (static_cast<float>(a.pixels) * static_cast<float>(group));
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += static_cast<int>(blockDim.x)) {
    const float mean1 = group_sum(total, i, group) * inverse_count, mean2 = group_sum(total + chunk, i, group) * inverse_count;
    const float inverse = inverse_of(i);
    coefficient[i] = -inverse * inverse * mean2;
    coefficient[chunk + i] = -inverse * (mean1 + centre_of(i) * mean2);
  }
  __syncthreads();
  float C[8], D[8], input[1][8] = {};
  load_floats(coefficient + v * 8, C);
  load_floats(coefficient + chunk + v * 8, D);
  const T* add0 = a.add[0].data ? static_cast<const T*>(a.add[0].data) + n * a.add[0].sample + channel : nullptr;
  const T* add1 = a.add[1].data ? static_cast<const T*>(a.add[1].data) + n * a.add[1].sample + channel : nullptr;
  const bool in_first = channel < a.split;
  const float out_scale = in_first ? a.scale : 1.0f;
  const int64_t out_channels = in_first ? a.split : a.channels - a.split;
  T* out = (in_first ? static_cast<T*>(a.first) + channel : static_cast<T*>(a.second) + (channel - a.split)) + n * a.pixels * out_channels;
  each([&](int p, const Vector<T>& raw_x, const Vector<T>& raw_dy) {
    float value[8], d[8];
    unpack(raw_x, value);
    unpack(raw_dy, d);
#pragma unroll
    for (int j = 0; j < 8; ++j) d[j] = A[j] * gradient_of_z(A[j] * value[j] + B[j], d[j]) + C[j] * value[j] + D[j];
    if (add0) {
      unpack(load_vector(add0 + p * a.add[0].pixel), value);
#pragma unroll
      for (int j = 0; j < 8; ++j) d[j] += value[j];
    }
    if (add1) {
      unpack(load_vector(add1 + p * a.add[1].pixel), value);
#pragma unroll
      for (int j = 0; j < 8; ++j) d[j] += value[j];
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) d[j] *= out_scale, input[0][j] += d[j];
    store_vector(out + p * out_channels, pack<T>(d));
  });
  if (a.column_input < 0) return;
  block_sums<1>(input, vectors, chunk, scratch, total);
  for (int i = static_cast<int>(threadIdx.x); i < chunk && first_channel + i < a.split; i += static_cast<int>(blockDim.x))
    a.sums[n * a.width + a.column_input + first_channel + i] = total[i];
}

// Whole groups and whole vectors of 8 channels a block; small blocks, so that several share a multiprocessor and one loads while another
// stores.
Tiling tile(int pixels, int channels, int groups, int counts) {
  const int group = channels / groups, unit = std::lcm(8, group);
  int chunk = unit;
  for (int c = unit; c <= std::min(channels, kMaxChunk); c += unit)
    if (channels % c == 0 && (c <= 16 || (c <= 64 && pixels * (c / 8) <= 2048))) chunk = c;
  const int vectors = chunk / 8, all = pixels * vectors, wanted = all >= 2048 ? 8 : all >= 512 ? 4 : 2;
  const int step = std::lcm(32, vectors);  // whole warps and whole pixels
  int threads = std::max(step, (all / wanted + step - 1) / step * step);
  threads = std::min(threads, kThreads / step * step);
  if (threads == 0) throw std::runtime_error("[cuda] norm: no tiling for " + std::to_string(channels) + " channels");
  const int rows = threads / vectors;
  Tiling t{chunk, threads, (pixels + rows - 1) / rows, 0};
  const bool fold = vectors <= 32 && (vectors & (vectors - 1)) == 0;
  t.shared_floats = 4 * chunk + (fold ? threads / 32 : rows) * chunk * counts;
  return t;
}

template <class Kernel>
bool allow_shared(Kernel kernel, size_t bytes) {
  if (bytes <= 48 * 1024 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) == cudaSuccess)
    return true;
  cudaGetLastError();
  return false;
}

template <class Kernel>
void launch_backward(Kernel kernel, const NormBackwardArgs& a, const Tiling& t, cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(t.shared_floats) * sizeof(float);
  if (!allow_shared(kernel, bytes)) throw std::runtime_error("[cuda] norm: the device is too small");
  kernel<<<dim3(static_cast<unsigned>(a.channels / t.chunk), static_cast<unsigned>(a.samples)), static_cast<unsigned>(t.threads), bytes,
           stream>>>(a, t.chunk);
  check(cudaGetLastError(), "norm");
}

int multiprocessors() {
  static const int count = [] {
    int device = 0, n = 0;
    check(cudaGetDevice(&device), "norm");
    check(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device), "norm");
    return n;
  }();
  return count;
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
      const int blocks = std::min(tiles, resident * multiprocessors());
      kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(t.threads), with_ahead, stream>>>(a, t.chunk, tiles, floats);
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
  const Tiling t = tile(a.pixels, a.channels, a.groups, 2);
  if (a.type == Type::float32) return launch_forward<float, 0>(a, t, stream);
  using B = __nv_bfloat16;
  if (t.per_thread <= 1) return launch_forward<B, 1>(a, t, stream);
  if (t.per_thread <= 2) return launch_forward<B, 2>(a, t, stream);
  if (t.per_thread <= 4) return launch_forward<B, 4>(a, t, stream);
  if (t.per_thread <= 8) return launch_forward<B, 8>(a, t, stream);
  if (t.per_thread <= 16) return launch_forward<B, 16>(a, t, stream);
  launch_forward<B, 0>(a, t, stream);
}

void norm_backward(const NormBackwardArgs& a, cudaStream_t stream) {
  const Tiling t = tile(a.pixels, a.channels, a.groups, 2);
  if (a.type == Type::float32) return launch_backward(backward_kernel<float, 0, kThreads>, a, t, stream);
  using B = __nv_bfloat16;
  if (t.threads > 256 && t.per_thread <= 8) return launch_backward(backward_kernel<B, 8, kThreads>, a, t, stream);
  if (t.per_thread <= 1) return launch_backward(backward_kernel<B, 1, 256>, a, t, stream);
  if (t.per_thread <= 2) return launch_backward(backward_kernel<B, 2, 256>, a, t, stream);
  if (t.per_thread <= 4) return launch_backward(backward_kernel<B, 4, 256>, a, t, stream);
  if (t.per_thread <= 8) return launch_backward(backward_kernel<B, 8, 256>, a, t, stream);
  launch_backward(backward_kernel<B, 0, kThreads>, a, t, stream);
}

}  // namespace htfm::cuda
