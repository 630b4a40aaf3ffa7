// What the kernels of norms share: activations, sums over a block, and the coefficients of channels that follow from
// them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include "htfm/net/image_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {

constexpr float kNormEpsilon = 1e-5f;

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

// Writes eight results of a norm, from element `at` of its output on.
template <class T>
__device__ __forceinline__ void store_result(const NormForwardArgs& a, int64_t at, float (&value)[8]) {
  if (a.eight_bit == 0) return store_vector(static_cast<T*>(a.out) + at, pack<T>(value));
  unsigned words[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const auto pair = [&](int j) -> unsigned {
      return __nv_cvt_float2_to_fp8x2(make_float2(value[j] * a.eight_bit, value[j + 1] * a.eight_bit), __NV_SATFINITE,
                                      __NV_E4M3);
    };
    words[k] = pair(4 * k) | pair(4 * k + 2) << 16;
  }
  *reinterpret_cast<uint2*>(static_cast<uint8_t*>(a.out) + at) = make_uint2(words[0], words[1]);
}

// d times the derivative of silu at z.
template <class T>
__device__ __forceinline__ float silu_gradient(float z, float d) {
  const float s = sigmoid<T>(z);
  return d * s * (1 + z * (1 - s));
}

// Adds M values over the lanes that differ in the bits from `offset` up, and writes the totals. Each exchange halves
// what a lane looks after.
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

// Sums over the rows of a block of `Count` values for each of 8 channels; total[value * chunk + channel] holds the
// result for all. `scratch` has room for rows x chunk x Count floats where lanes of a warp cannot be folded, warps x
// chunk x Count otherwise.
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

// The total of what `parts` blocks of a sample (blockIdx.y) have added up, for all.
__device__ __forceinline__ void add_partials(const float* partial, int parts, int values, float* total) {
  const float* own = partial + static_cast<int64_t>(blockIdx.y) * parts * values;
  for (int i = static_cast<int>(threadIdx.x); i < values; i += static_cast<int>(blockDim.x)) {
    float sum = 0;
#pragma unroll 8
    for (int s = 0; s < parts; ++s) sum += own[static_cast<int64_t>(s) * values + i];
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
  out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w, out[4] = high.x, out[5] = high.y, out[6] = high.z,
  out[7] = high.w;
}

// From the sums over pixels of `chunk` channels from `first` on to slope and offset of each. The second sums are
// squares, or where `raw` is false squares of deviations from the group's mean; where the input is not `rounded` they
// are still without the biases. One block writes the statistics down.
__device__ __forceinline__ void forward_coefficients(const NormForwardArgs& a, int64_t n, int first, int chunk,
                                                     bool rounded, bool raw, bool writes, float* total,
                                                     float* coefficient) {
  const int group = a.channels / a.groups, threads = static_cast<int>(blockDim.x);
  const float count = static_cast<float>(a.pixels), inverse_count = 1.0f / (count * static_cast<float>(group));
  const auto bias_of = [&](int i) {  // where it is not in the values
    const int c = first + i;
    return a.y && c < a.fresh && !rounded ? (a.bias[0] ? a.bias[0][c] : 0.0f) + (a.bias[1] ? a.bias[1][c] : 0.0f)
                                          : 0.0f;
  };
  if (raw && !rounded) {
    for (int i = static_cast<int>(threadIdx.x); i < chunk; i += threads) {
      const float b = bias_of(i);
      total[chunk + i] += b * (2 * total[i] + count * b);
      total[i] += count * b;
    }
    __syncthreads();
  }
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += threads) {
    const int c = first + i;
    const float mean = group_sum(total, i, group) * inverse_count,
                square = group_sum(total + chunk, i, group) * inverse_count;
    const float inverse = rsqrtf((raw ? fmaxf(square - mean * mean, 0.0f) : square) + kNormEpsilon);
    float slope = a.gamma[c], offset = a.beta[c];
    if (a.modulation) {
      const float* m = a.modulation + n * a.modulation_row;
      slope *= 1 + m[c];
      offset = offset * (1 + m[c]) + m[a.channels + c];
    }
    coefficient[i] = slope * inverse;
    coefficient[chunk + i] = offset + (bias_of(i) - mean) * slope * inverse;
    if (a.mean && c % group == 0 && writes) {
      a.mean[n * a.groups + c / group] = mean;
      a.inverse[n * a.groups + c / group] = inverse;
    }
  }
  __syncthreads();
}

// The norm of a channel on the way back: normed = inverse x + centre, then scale (gamma normed + beta) + shift.
struct ChannelNorm {
  __device__ ChannelNorm(const NormBackwardArgs& a, int64_t n, int c)
      : inverse(a.inverse[n * a.groups + c / (a.channels / a.groups)]),
        centre(((a.bias ? a.bias[c] : 0.0f) - a.mean[n * a.groups + c / (a.channels / a.groups)]) * inverse),
        scale(a.modulation ? 1 + a.modulation[n * a.modulation_row + c] : 1.0f) {}
  float inverse, centre, scale;
};

// z = A x + B of each channel.
__device__ __forceinline__ void activation_coefficients(const NormBackwardArgs& a, int64_t n, int first, int chunk,
                                                        float* coefficient) {
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += static_cast<int>(blockDim.x)) {
    const int c = first + i;
    const ChannelNorm norm(a, n, c);
    const float slope = a.gamma[c] * norm.scale;
    coefficient[i] = slope * norm.inverse;
    coefficient[chunk + i] = slope * norm.centre + a.beta[c] * norm.scale +
                             (a.modulation ? a.modulation[n * a.modulation_row + a.channels + c] : 0.0f);
  }
  __syncthreads();
}

// From the sums of dz and dz x to C and D of the input's gradient A dz + C x + D; `total` is used up. One block writes
// down the sums of the parameters.
__device__ __forceinline__ void input_coefficients(const NormBackwardArgs& a, int64_t n, int first, int chunk,
                                                   bool writes, float* total, float* coefficient) {
  const int group = a.channels / a.groups, threads = static_cast<int>(blockDim.x);
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += threads) {
    const int c = first + i;
    const ChannelNorm norm(a, n, c);
    const float gamma = a.gamma[c], plain = total[i], weighted = norm.inverse * total[chunk + i] + norm.centre * plain;
    float* out = a.sums + n * a.width;
    if (a.column_gamma >= 0 && writes) out[a.column_gamma + c] = weighted * norm.scale;
    if (a.column_beta >= 0 && writes) out[a.column_beta + c] = plain * norm.scale;
    if (a.modulation_gradient && writes) {
      float* m = a.modulation_gradient + n * a.modulation_gradient_row;
      m[c] = weighted * gamma + plain * a.beta[c];
      m[a.channels + c] = plain;
    }
    total[i] = plain * gamma * norm.scale;
    total[chunk + i] = weighted * gamma * norm.scale;
  }
  __syncthreads();
  const float inverse_count = 1.0f / (static_cast<float>(a.pixels) * static_cast<float>(group));
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += threads) {
    const float mean1 = group_sum(total, i, group) * inverse_count,
                mean2 = group_sum(total + chunk, i, group) * inverse_count;
    const ChannelNorm norm(a, n, first + i);
    coefficient[i] = -norm.inverse * norm.inverse * mean2;
    coefficient[chunk + i] = -norm.inverse * (mean1 + norm.centre * mean2);
  }
  __syncthreads();
}

}  // namespace htfm::cuda
