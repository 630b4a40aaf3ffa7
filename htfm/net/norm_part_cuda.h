// What the norms of large images share: the pixels that a block looks after, and how it reads what is normed. For .cu
// files only.
#pragma once

#include "htfm/net/norm_block_cuda.h"

namespace htfm::cuda {

constexpr int kPartThreads = 256;  ///< a block at the most

/// Some pixels of a sample, all channels, eight of them a thread.
struct Part {
  __device__ Part(int pixels, int channels, int sample, int index, int parts)
      : n(sample),
        vectors(channels / 8),
        channel(static_cast<int>(threadIdx.x) % vectors * 8),
        rows(static_cast<int>(blockDim.x) / vectors) {
    const int each = (pixels + parts - 1) / parts;
    const int first = index * each;
    begin = first + static_cast<int>(threadIdx.x) / vectors, end = min(pixels, first + each);
  }
  /// use(p, load(p)) for the thread's pixels, AtOnce of them on their way at a time.
  template <int AtOnce, class Load, class Use>
  __device__ __forceinline__ void each_pixel(const Load& load, const Use& use) const {
    for (int p = begin; p < end; p += AtOnce * rows) {
      decltype(load(0)) value[AtOnce];
#pragma unroll
      for (int u = 0; u < AtOnce; ++u)
        if (p + u * rows < end) value[u] = load(p + u * rows);
#pragma unroll
      for (int u = 0; u < AtOnce; ++u)
        if (p + u * rows < end) use(p + u * rows, value[u]);
    }
  }
  int64_t n;
  int vectors, channel, rows, begin, end;
};

/// Eight values as the L2 cache has them: another block may have written them.
__device__ __forceinline__ Vector<__nv_bfloat16> load_shared_vector(const __nv_bfloat16* p) {
  return {__ldcg(reinterpret_cast<const uint4*>(p))};
}

template <class T>
struct Pair {
  Vector<T> first, second;
};

/// Eight channels of a norm's input: a sum that is still to be added up, or what is stored.
template <class T>
struct Input {
  __device__ Input(const NormForwardArgs& a, const Part& part, bool stored) : scale(a.scale) {
    fresh = a.y != nullptr && part.channel < a.fresh && !stored;
    rounded = a.residual.data != nullptr || a.x.data != nullptr;
    x = a.x.data ? static_cast<T*>(a.x.data) + part.n * a.x.sample + part.channel : nullptr;
    from = fresh ? static_cast<const T*>(a.y) + part.n * a.pixels * static_cast<int64_t>(a.fresh) + part.channel : x;
    pixel = fresh ? a.fresh : a.x.pixel, x_pixel = a.x.pixel, residual_pixel = a.residual.pixel;
    if (fresh && a.residual.data)
      residual = static_cast<const T*>(a.residual.data) + part.n * a.residual.sample + part.channel;
    if (fresh && rounded)
      for (int k = 0; k < 2; ++k)
        if (a.bias[k]) add_floats(a.bias[k] + part.channel, bias);
  }
  __device__ __forceinline__ Pair<T> load(int p) const {
    Pair<T> out;
    out.first = load_shared_vector(from + p * pixel);
    if (residual) out.second = load_shared_vector(residual + p * residual_pixel);
    return out;
  }
  /// As it is stored, so without the bias where nothing is stored.
  __device__ __forceinline__ Vector<T> value(const Pair<T>& raw) const {
    if (!fresh || !rounded) return raw.first;
    float sum[8];
    unpack(raw.first, sum);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[j] += bias[j];
    if (residual) {
      float more[8];
      unpack(raw.second, more);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] += more[j];
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[j] *= scale;
    return pack<T>(sum);
  }
  float bias[8] = {}, scale;
  bool fresh, rounded;
  const T *from, *residual = nullptr;
  T* x;
  int64_t pixel, x_pixel, residual_pixel;
};

/// The sums of values and of squares over a part, of each channel, in `total`. Adds up and stores the input where it is
/// a sum. `scratch`: as block_sums wants it.
template <class T>
__device__ __forceinline__ void part_moments(const NormForwardArgs& a, const Part& part, float* scratch, float* total) {
  const Input<T> in(a, part, false);
  float sums[2][8] = {};
  part.each_pixel<4>([&](int p) { return in.load(p); },
                     [&](int p, const Pair<T>& raw) {
                       const Vector<T> v = in.value(raw);
                       if (in.fresh && in.x) store_vector(in.x + p * in.x_pixel, v);
                       float value[8];
                       unpack(v, value);
#pragma unroll
                       for (int j = 0; j < 8; ++j) sums[0][j] += value[j], sums[1][j] += value[j] * value[j];
                     });
  block_sums<2>(sums, part.vectors, a.channels, scratch, total);
}

/// Threads of a block, and rows of its scratch for block_sums.
struct PartShape {
  explicit PartShape(int channels) {
    const int vectors = channels / 8;
    threads = kPartThreads / vectors * vectors;
    const bool fold = vectors <= 32 && (vectors & (vectors - 1)) == 0;
    scratch = fold ? kPartThreads / 32 : threads / vectors;
  }
  int threads, scratch;
};

}  // namespace htfm::cuda
