// Eight neighbouring channels as one unit of memory access. For .cu files only.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "htfm/base/check_cuda.h"

namespace htfm::cuda {

/// How many threads there are to number in 32 bits.
inline unsigned thread_count(int64_t items, const char* what) {
  if (items > int64_t{0xffff0000}) throw std::runtime_error(std::string("[cuda] ") + what + ": too many elements");
  return static_cast<unsigned>(items);
}

template <class T>
struct Vector;
template <>
struct Vector<float> {
  float4 low, high;
};
template <>
struct Vector<__nv_bfloat16> {
  uint4 bits;
};

__device__ __forceinline__ Vector<float> load_vector(const float* p) {
  return {*reinterpret_cast<const float4*>(p), *reinterpret_cast<const float4*>(p + 4)};
}
__device__ __forceinline__ Vector<__nv_bfloat16> load_vector(const __nv_bfloat16* p) {
  return {*reinterpret_cast<const uint4*>(p)};
}

__device__ __forceinline__ void store_vector(float* p, const Vector<float>& v) {
  *reinterpret_cast<float4*>(p) = v.low;
  *reinterpret_cast<float4*>(p + 4) = v.high;
}
__device__ __forceinline__ void store_vector(__nv_bfloat16* p, const Vector<__nv_bfloat16>& v) {
  *reinterpret_cast<uint4*>(p) = v.bits;
}

__device__ __forceinline__ void unpack(const Vector<float>& v, float (&out)[8]) {
  out[0] = v.low.x, out[1] = v.low.y, out[2] = v.low.z, out[3] = v.low.w;
  out[4] = v.high.x, out[5] = v.high.y, out[6] = v.high.z, out[7] = v.high.w;
}
__device__ __forceinline__ void unpack(const Vector<__nv_bfloat16>& v, float (&out)[8]) {
  const unsigned words[4] = {v.bits.x, v.bits.y, v.bits.z, v.bits.w};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    out[2 * k] = __uint_as_float(words[k] << 16);
    out[2 * k + 1] = __uint_as_float(words[k] & 0xffff0000u);
  }
}

template <class T>
__device__ __forceinline__ Vector<T> pack(const float (&v)[8]);
template <>
__device__ __forceinline__ Vector<float> pack<float>(const float (&v)[8]) {
  return {make_float4(v[0], v[1], v[2], v[3]), make_float4(v[4], v[5], v[6], v[7])};
}
template <>
__device__ __forceinline__ Vector<__nv_bfloat16> pack<__nv_bfloat16>(const float (&v)[8]) {
  unsigned words[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(v[2 * k], v[2 * k + 1]);
    words[k] = *reinterpret_cast<const unsigned*>(&pair);
  }
  return {make_uint4(words[0], words[1], words[2], words[3])};
}

__device__ __forceinline__ void add_floats(const float* p, float (&out)[8]) {
#pragma unroll
  for (int j = 0; j < 8; ++j) out[j] += p[j];
}

}  // namespace htfm::cuda
