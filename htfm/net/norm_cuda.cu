// Group norm + scale/shift + SiLU in one pass over memory each way. A block owns one sample and some whole groups; its values stay in
// registers between the statistics and the result, so every tensor is read once. Where they do not fit (V = 0), they are read again.
#include <cuda_bf16.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "htfm/net/image_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int kMaxChunk = 512;  // channels a block
constexpr float kEpsilon = 1e-5f;

__device__ __forceinline__ float sigmoid(float z) { return 1.0f / (1.0f + __expf(-z)); }

// Sums over the rows of a block of `Count` values for each of 8 channels; total[value * chunk + channel] holds the result for all.
// `scratch` has room for rows x chunk x Count floats where lanes of a warp cannot be folded, warps x chunk x Count otherwise.
template <int Count>
__device__ void block_sums(float (&value)[Count][8], int vectors, int chunk, float* scratch, float* total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int rows;
  const bool fold = vectors <= 32 && (vectors & (vectors - 1)) == 0;
  if (fold) {
    for (int offset = vectors; offset < 32; offset *= 2)
#pragma unroll
      for (int k = 0; k < Count; ++k)
#pragma unroll
        for (int j = 0; j < 8; ++j) value[k][j] += __shfl_xor_sync(0xffffffffu, value[k][j], offset);
    rows = static_cast<int>(blockDim.x) / 32;
    if (lane < vectors)
#pragma unroll
      for (int k = 0; k < Count; ++k)
#pragma unroll
        for (int j = 0; j < 8; ++j) scratch[(warp * Count + k) * chunk + lane * 8 + j] = value[k][j];
  } else {
    rows = static_cast<int>(blockDim.x) / vectors;
    const int v = static_cast<int>(threadIdx.x) % vectors, row = static_cast<int>(threadIdx.x) / vectors;
#pragma unroll
    for (int k = 0; k < Count; ++k)
#pragma unroll
      for (int j = 0; j < 8; ++j) scratch[(row * Count + k) * chunk + v * 8 + j] = value[k][j];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < Count * chunk; i += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int r = 0; r < rows; ++r) sum += scratch[r * Count * chunk + i];
    total[i] = sum;
  }
  __syncthreads();
}

// The mean over each group of what `total` holds a channel, put back to every channel of the group.
__device__ void group_means(float* total, int chunk, int group, float inverse_count) {
  const int groups = chunk / group;
  for (int g = static_cast<int>(threadIdx.x); g < groups; g += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int j = 0; j < group; ++j) sum += total[g * group + j];
    sum *= inverse_count;
    for (int j = 0; j < group; ++j) total[g * group + j] = sum;
  }
  __syncthreads();
}

struct Tiling {
  int chunk, threads, per_thread, shared_floats;
};

template <class T, int V>
__global__ void __launch_bounds__(512) forward_kernel(NormForwardArgs a, int chunk) {
  extern __shared__ float shared[];
  constexpr int kept = V > 0 ? V : 1;
  const int vectors = chunk / 8, v = static_cast<int>(threadIdx.x) % vectors, row = static_cast<int>(threadIdx.x) / vectors,
            rows = static_cast<int>(blockDim.x) / vectors, group = a.channels / a.groups;
  const int64_t n = blockIdx.y;
  const int channel = static_cast<int>(blockIdx.x) * chunk + v * 8;
  float* total = shared;
  float* deviation = shared + chunk;
  float* scratch = shared + 2 * chunk;
  const T* y = static_cast<const T*>(a.y);
  const T* residual = static_cast<const T*>(a.residual.data);
  T* x = static_cast<T*>(a.x.data);
  const bool fresh = y != nullptr && channel < a.fresh, rounded = residual != nullptr || x != nullptr;
  float bias[8] = {};
  if (fresh)
    for (int k = 0; k < 2; ++k)
      if (a.bias[k]) add_floats(a.bias[k] + channel, bias);

  const auto load = [&](int p, bool store) -> Vector<T> {
    if (!fresh) return load_vector(x + n * a.x.sample + p * a.x.pixel + channel);
    Vector<T> raw = load_vector(y + (n * a.pixels + p) * a.fresh + channel);
    if (!rounded) return raw;
    float value[8];
    unpack(raw, value);
#pragma unroll
    for (int j = 0; j < 8; ++j) value[j] += bias[j];
    if (residual) {
      float more[8];
      unpack(load_vector(residual + n * a.residual.sample + p * a.residual.pixel + channel), more);
#pragma unroll
      for (int j = 0; j < 8; ++j) value[j] += more[j];
    }
    raw = pack<T>(value);
    if (x && store) store_vector(x + n * a.x.sample + p * a.x.pixel + channel, raw);
    return raw;
  };
  const bool late_bias = fresh && !rounded;
  const auto values = [&](const Vector<T>& raw, float(&value)[8]) {
    unpack(raw, value);
    if (late_bias)
#pragma unroll
      for (int j = 0; j < 8; ++j) value[j] += bias[j];
  };

  Vector<T> kept_values[kept];
  float sum[1][8] = {};
  if constexpr (V > 0) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const int p = row + i * rows;
      if (p < a.pixels) kept_values[i] = load(p, true);
    }
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
  if constexpr (V == 0) {
    if (fresh && x)
      for (int p = row; p < a.pixels; p += rows) load(p, true);
  }
  each([&](int, const Vector<T>& raw) {
    float value[8];
    values(raw, value);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[0][j] += value[j];
  });
  const float inverse_count = 1.0f / (static_cast<float>(a.pixels) * static_cast<float>(group));
  block_sums<1>(sum, vectors, chunk, scratch, total);
  group_means(total, chunk, group, inverse_count);
  float mean[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) mean[j] = total[v * 8 + j], sum[0][j] = 0;
  each([&](int, const Vector<T>& raw) {
    float value[8];
    values(raw, value);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[0][j] += (value[j] - mean[j]) * (value[j] - mean[j]);
  });
  block_sums<1>(sum, vectors, chunk, scratch, deviation);
  group_means(deviation, chunk, group, inverse_count);

  float slope[8], offset[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int c = channel + j;
    const float inverse = rsqrtf(deviation[v * 8 + j] + kEpsilon);
    float s = a.gamma[c], o = a.beta[c];
    if (a.modulation) {
      const float* m = a.modulation + n * a.modulation_row;
      s *= 1 + m[c];
      o = o * (1 + m[c]) + m[a.channels + c];
    }
    slope[j] = s * inverse;
    offset[j] = o - mean[j] * slope[j];
    if (late_bias) offset[j] += bias[j] * slope[j];
    if (row == 0 && a.mean && c % group == 0) {
      a.mean[n * a.groups + c / group] = mean[j];
      a.inverse[n * a.groups + c / group] = inverse;
    }
  }
  T* out = static_cast<T*>(a.out) + n * a.pixels * static_cast<int64_t>(a.channels) + channel;
  each([&](int p, const Vector<T>& raw) {
    float value[8];
    unpack(raw, value);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float z = value[j] * slope[j] + offset[j];
      value[j] = a.silu ? z * sigmoid(z) : z;
    }
    store_vector(out + static_cast<int64_t>(p) * a.channels, pack<T>(value));
  });
}

template <class T, int V>
__global__ void __launch_bounds__(512) backward_kernel(NormBackwardArgs a, int chunk) {
  extern __shared__ float shared[];
  constexpr int kept = V > 0 ? V : 1;
  const int vectors = chunk / 8, v = static_cast<int>(threadIdx.x) % vectors, row = static_cast<int>(threadIdx.x) / vectors,
            rows = static_cast<int>(blockDim.x) / vectors, group = a.channels / a.groups;
  const int64_t n = blockIdx.y;
  const int first_channel = static_cast<int>(blockIdx.x) * chunk, channel = first_channel + v * 8;
  float* total = shared;  // plain, weighted: 2 x chunk
  float* scratch = shared + 2 * chunk;
  const T* x = static_cast<const T*>(a.x.data) + n * a.x.sample + channel;
  const T* dy = static_cast<const T*>(a.gradient) + n * a.pixels * static_cast<int64_t>(a.channels) + channel;

  // normed = x * inverse + centre, z = normed * slope + offset.
  float inverse[8], centre[8], slope[8], offset[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int c = channel + j, g = c / group;
    inverse[j] = a.inverse[n * a.groups + g];
    centre[j] = ((a.bias ? a.bias[c] : 0.0f) - a.mean[n * a.groups + g]) * inverse[j];
    slope[j] = a.gamma[c], offset[j] = a.beta[c];
    if (a.modulation) {
      const float* m = a.modulation + n * a.modulation_row;
      slope[j] *= 1 + m[c];
      offset[j] = offset[j] * (1 + m[c]) + m[a.channels + c];
    }
  }
  Vector<T> kept_x[kept], kept_dy[kept];
  if constexpr (V > 0) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const int p = row + i * rows;
      if (p < a.pixels) kept_x[i] = load_vector(x + p * a.x.pixel), kept_dy[i] = load_vector(dy + static_cast<int64_t>(p) * a.channels);
    }
  }
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
    const float s = sigmoid(z);
    return d * s * (1 + z * (1 - s));
  };
  float sums[2][8] = {};
  each([&](int, const Vector<T>& raw_x, const Vector<T>& raw_dy) {
    float value[8], d[8];
    unpack(raw_x, value);
    unpack(raw_dy, d);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float normed = value[j] * inverse[j] + centre[j], dz = gradient_of_z(normed * slope[j] + offset[j], d[j]);
      sums[0][j] += dz;
      sums[1][j] += dz * normed;
    }
  });
  block_sums<2>(sums, vectors, chunk, scratch, total);
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += static_cast<int>(blockDim.x)) {
    const int c = first_channel + i;
    const float plain = total[i], weighted = total[chunk + i], gamma = a.gamma[c];
    float scale = 1;
    if (a.modulation) scale = 1 + a.modulation[n * a.modulation_row + c];
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
  group_means(total, chunk, group, inverse_count);
  group_means(total + chunk, chunk, group, inverse_count);
  float mean1[8], mean2[8], input[1][8] = {};
#pragma unroll
  for (int j = 0; j < 8; ++j) mean1[j] = total[v * 8 + j], mean2[j] = total[chunk + v * 8 + j];
  const T* add0 = a.add[0].data ? static_cast<const T*>(a.add[0].data) + n * a.add[0].sample + channel : nullptr;
  const T* add1 = a.add[1].data ? static_cast<const T*>(a.add[1].data) + n * a.add[1].sample + channel : nullptr;
  const bool in_first = channel < a.split;
  const int64_t out_channels = in_first ? a.split : a.channels - a.split;
  T* out = (in_first ? static_cast<T*>(a.first) + channel : static_cast<T*>(a.second) + (channel - a.split)) + n * a.pixels * out_channels;
  each([&](int p, const Vector<T>& raw_x, const Vector<T>& raw_dy) {
    float value[8], d[8];
    unpack(raw_x, value);
    unpack(raw_dy, d);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float normed = value[j] * inverse[j] + centre[j], dz = gradient_of_z(normed * slope[j] + offset[j], d[j]);
      d[j] = inverse[j] * (dz * slope[j] - mean1[j] - normed * mean2[j]);
    }
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
    for (int j = 0; j < 8; ++j) input[0][j] += d[j];
    store_vector(out + p * out_channels, pack<T>(d));
  });
  if (a.column_input < 0) return;
  __syncthreads();
  block_sums<1>(input, vectors, chunk, scratch, total);
  for (int i = static_cast<int>(threadIdx.x); i < chunk && first_channel + i < a.split; i += static_cast<int>(blockDim.x))
    a.sums[n * a.width + a.column_input + first_channel + i] = total[i];
}

// Whole groups and whole vectors of 8 channels a block, about 64 bytes a pixel at the least, as many values as its registers hold.
Tiling tile(int pixels, int channels, int groups, int counts) {
  const int group = channels / groups, unit = std::lcm(8, group);
  int chunk = unit;
  for (int c = unit; c <= std::min(channels, kMaxChunk); c += unit)
    if (channels % c == 0 && (c <= 32 || static_cast<int64_t>(pixels) * (c / 8) <= 2048)) chunk = c;
  const int vectors = chunk / 8, all = pixels * vectors;
  int threads = all >= 2048 ? 512 : all >= 1024 ? 256 : 128;
  // A multiple of both the warp and the vectors of a pixel.
  const int step = std::lcm(32, vectors);
  threads = std::max(step, threads / step * step);
  if (threads > 512) throw std::runtime_error("[cuda] norm: no tiling for " + std::to_string(channels) + " channels");
  const int rows = threads / vectors;
  Tiling t{chunk, threads, (pixels + rows - 1) / rows, 0};
  const bool fold = vectors <= 32 && (vectors & (vectors - 1)) == 0;
  t.shared_floats = 2 * chunk + (fold ? threads / 32 : rows) * chunk * counts;
  return t;
}

template <class Kernel, class Args>
void launch(Kernel kernel, const Args& a, const Tiling& t, cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(t.shared_floats) * sizeof(float);
  if (bytes > 48 * 1024) check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)), "norm");
  kernel<<<dim3(static_cast<unsigned>(a.channels / t.chunk), static_cast<unsigned>(a.samples)), static_cast<unsigned>(t.threads), bytes,
           stream>>>(a, t.chunk);
  check(cudaGetLastError(), "norm");
}

}  // namespace

void norm_forward(const NormForwardArgs& a, cudaStream_t stream) {
  const Tiling t = tile(a.pixels, a.channels, a.groups, 1);
  if (a.type == Type::float32) return launch(forward_kernel<float, 0>, a, t, stream);
  using B = __nv_bfloat16;
  if (t.per_thread <= 1) return launch(forward_kernel<B, 1>, a, t, stream);
  if (t.per_thread <= 2) return launch(forward_kernel<B, 2>, a, t, stream);
  if (t.per_thread <= 4) return launch(forward_kernel<B, 4>, a, t, stream);
  if (t.per_thread <= 8) return launch(forward_kernel<B, 8>, a, t, stream);
  if (t.per_thread <= 16) return launch(forward_kernel<B, 16>, a, t, stream);
  launch(forward_kernel<B, 0>, a, t, stream);
}

void norm_backward(const NormBackwardArgs& a, cudaStream_t stream) {
  const Tiling t = tile(a.pixels, a.channels, a.groups, 2);
  if (a.type == Type::float32) return launch(backward_kernel<float, 0>, a, t, stream);
  using B = __nv_bfloat16;
  if (t.per_thread <= 1) return launch(backward_kernel<B, 1>, a, t, stream);
  if (t.per_thread <= 2) return launch(backward_kernel<B, 2>, a, t, stream);
  if (t.per_thread <= 4) return launch(backward_kernel<B, 4>, a, t, stream);
  if (t.per_thread <= 8) return launch(backward_kernel<B, 8>, a, t, stream);
  launch(backward_kernel<B, 0>, a, t, stream);
}

}  // namespace htfm::cuda
