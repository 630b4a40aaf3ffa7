// Group norm + scale/shift + SiLU of large images, both ways, in two plain passes over memory: the first adds up what
// the statistics need, a block for some pixels of a sample, the second applies them. A tile of such an image would not
// fit into the registers of a block.
#include <algorithm>

#include "htfm/net/norm_part_cuda.h"
#include "htfm/net/norm_stream_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int kThreads = kPartThreads;
constexpr int kBlocks = 2048;  // of a grid, about

__device__ Part own_part(int pixels, int channels) {
  return Part(pixels, channels, static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x),
              static_cast<int>(gridDim.x));
}

// The sums of this block, where `add_partials` looks for them.
__device__ float* own_partial(float* partial, int values) {
  return partial + (static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x) * values;
}

template <class T>
__global__ void __launch_bounds__(kThreads, 2) moments_kernel(NormForwardArgs a, float* partial) {
  extern __shared__ __align__(16) float shared[];
  part_moments<T>(a, own_part(a.pixels, a.channels), shared + 2 * a.channels, shared);
  float* own = own_partial(partial, 2 * a.channels);
  for (int i = static_cast<int>(threadIdx.x); i < 2 * a.channels; i += static_cast<int>(blockDim.x)) own[i] = shared[i];
}

template <class T>
__global__ void __launch_bounds__(kThreads, 2) apply_kernel(NormForwardArgs a, const float* partial, int parts) {
  extern __shared__ __align__(16) float shared[];
  float *total = shared, *coefficient = shared + 2 * a.channels;
  const Part part = own_part(a.pixels, a.channels);
  const Input<T> in(a, part, a.x.data != nullptr);
  add_partials(partial, parts, 2 * a.channels, total);
  forward_coefficients(a, part.n, 0, a.channels, in.rounded, true, blockIdx.x == 0, total, coefficient);
  float slope[8], offset[8];
  load_floats(coefficient + part.channel, slope);
  load_floats(coefficient + a.channels + part.channel, offset);
  const int64_t out = part.n * a.pixels * static_cast<int64_t>(a.channels) + part.channel;
  part.each_pixel<4>([&](int p) { return in.load(p); },
                     [&](int p, const Pair<T>& raw) {
                       float value[8];
                       unpack(in.value(raw), value);
#pragma unroll
                       for (int j = 0; j < 8; ++j) {
                         const float z = value[j] * slope[j] + offset[j];
                         value[j] = a.silu ? silu<T>(z) : z;
                       }
                       store_result<T>(a, out + static_cast<int64_t>(p) * a.channels, value);
                     });
}

// x and the gradient of the output.
template <class T>
struct BackwardInput {
  __device__ BackwardInput(const NormBackwardArgs& a, const Part& part)
      : x(static_cast<const T*>(a.x.data) + part.n * a.x.sample + part.channel),
        dy(static_cast<const T*>(a.gradient) + part.n * a.pixels * static_cast<int64_t>(a.channels) + part.channel),
        pixel(a.x.pixel),
        channels(a.channels) {}
  __device__ __forceinline__ Pair<T> load(int p) const {
    return {load_vector(x + p * pixel), load_vector(dy + p * channels)};
  }
  const T *x, *dy;
  int64_t pixel, channels;
};

template <class T>
__global__ void __launch_bounds__(kThreads, 2) backward_sums_kernel(NormBackwardArgs a, float* partial) {
  extern __shared__ __align__(16) float shared[];
  const Part part = own_part(a.pixels, a.channels);
  const BackwardInput<T> in(a, part);
  float* coefficient = shared + 2 * a.channels;
  activation_coefficients(a, part.n, 0, a.channels, coefficient);
  float A[8], B[8], sums[2][8] = {};
  load_floats(coefficient + part.channel, A);
  load_floats(coefficient + a.channels + part.channel, B);
  part.each_pixel<4>([&](int p) { return in.load(p); },
                     [&](int, const Pair<T>& raw) {
                       float value[8], d[8];
                       unpack(raw.first, value);
                       unpack(raw.second, d);
#pragma unroll
                       for (int j = 0; j < 8; ++j) {
                         const float dz = a.silu ? silu_gradient<T>(A[j] * value[j] + B[j], d[j]) : d[j];
                         sums[0][j] += dz, sums[1][j] += dz * value[j];
                       }
                     });
  __syncthreads();  // the coefficients have been read
  block_sums<2>(sums, part.vectors, a.channels, shared + 2 * a.channels, shared);
  float* own = own_partial(partial, 2 * a.channels);
  for (int i = static_cast<int>(threadIdx.x); i < 2 * a.channels; i += static_cast<int>(blockDim.x)) own[i] = shared[i];
}

template <class T>
struct Added {
  Pair<T> in;
  Vector<T> first, second;
};

// `input_partial`: sums of the input's gradient over this block's pixels.
template <class T>
__global__ void __launch_bounds__(kThreads, 2)
    backward_apply_kernel(NormBackwardArgs a, const float* partial, int parts, float* input_partial) {
  extern __shared__ __align__(16) float shared[];
  float *total = shared, *coefficient = shared + 2 * a.channels;
  const Part part = own_part(a.pixels, a.channels);
  const BackwardInput<T> in(a, part);
  float A[8], B[8], C[8], D[8], input[1][8] = {};
  activation_coefficients(a, part.n, 0, a.channels, coefficient);
  load_floats(coefficient + part.channel, A);
  load_floats(coefficient + a.channels + part.channel, B);
  add_partials(partial, parts, 2 * a.channels, total);
  input_coefficients(a, part.n, 0, a.channels, blockIdx.x == 0, total, coefficient);
  load_floats(coefficient + part.channel, C);
  load_floats(coefficient + a.channels + part.channel, D);
  const auto added = [&](const Strided& s) {
    return s.data ? static_cast<const T*>(s.data) + part.n * s.sample + part.channel : nullptr;
  };
  const T *add0 = added(a.add[0]), *add1 = added(a.add[1]);
  const bool in_first = part.channel < a.split;
  const float out_scale = in_first ? a.scale : 1.0f;
  const int64_t out_channels = in_first ? a.split : a.channels - a.split;
  T* out = (in_first ? static_cast<T*>(a.first) + part.channel : static_cast<T*>(a.second) + (part.channel - a.split)) +
           part.n * a.pixels * out_channels;
  part.each_pixel<2>(
      [&](int p) {
        Added<T> v;
        v.in = in.load(p);
        if (add0) v.first = load_vector(add0 + p * a.add[0].pixel);
        if (add1) v.second = load_vector(add1 + p * a.add[1].pixel);
        return v;
      },
      [&](int p, const Added<T>& v) {
        float value[8], d[8];
        unpack(v.in.first, value);
        unpack(v.in.second, d);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float dz = a.silu ? silu_gradient<T>(A[j] * value[j] + B[j], d[j]) : d[j];
          d[j] = A[j] * dz + C[j] * value[j] + D[j];
        }
        const auto plus = [&](const Vector<T>& raw) {
          float more[8];
          unpack(raw, more);
#pragma unroll
          for (int j = 0; j < 8; ++j) d[j] += more[j];
        };
        if (add0) plus(v.first);
        if (add1) plus(v.second);
#pragma unroll
        for (int j = 0; j < 8; ++j) d[j] *= out_scale, input[0][j] += d[j];
        store_vector(out + p * out_channels, pack<T>(d));
      });
  if (!input_partial) return;
  __syncthreads();  // the coefficients have been read
  block_sums<1>(input, part.vectors, a.channels, shared + a.channels, shared);
  float* own = own_partial(input_partial, a.channels);
  for (int i = static_cast<int>(threadIdx.x); i < a.channels; i += static_cast<int>(blockDim.x)) own[i] = shared[i];
}

// A block a sample: the sums of the input's gradient.
__global__ void input_sums_kernel(NormBackwardArgs a, const float* input_partial, int parts) {
  extern __shared__ float total[];
  add_partials(input_partial, parts, a.channels, total);
  for (int i = static_cast<int>(threadIdx.x); i < a.split; i += static_cast<int>(blockDim.x))
    a.sums[static_cast<int64_t>(blockIdx.y) * a.width + a.column_input + i] = total[i];
}

// Blocks that share a sample.
int stream_parts(int samples, int pixels) {
  return std::clamp((kBlocks + samples - 1) / samples, 1, std::max(1, pixels / 256));
}

struct Shape {
  Shape(int samples, int pixels, int channels) {
    const int vectors = channels / 8;
    threads = static_cast<unsigned>(kThreads / vectors * vectors);
    parts = stream_parts(samples, pixels);
    grid = dim3(static_cast<unsigned>(parts), static_cast<unsigned>(samples));
    const bool fold = vectors <= 32 && (vectors & (vectors - 1)) == 0;
    const int scratch = fold ? kThreads / 32 : static_cast<int>(threads) / vectors;
    bytes = static_cast<size_t>(std::max(4, 2 + 2 * scratch) * channels) * sizeof(float);
  }
  unsigned threads;
  int parts;
  dim3 grid;
  size_t bytes;
};

}  // namespace

bool streams(Type type, int pixels, int channels) {
  return type == Type::bfloat16 && pixels >= 2048 && channels % 8 == 0 && channels <= 8 * kThreads;
}

int64_t norm_workspace(Type type, int samples, int pixels, int channels) {
  int64_t floats =
      streams(type, pixels, channels) ? int64_t{3} * stream_parts(samples, pixels) * samples * channels : 0;
  if (takes_turns(type, pixels, channels)) floats = std::max(floats, turns_workspace(samples, pixels, channels));
  return floats;
}

int stream_moments(const NormForwardArgs& a, cudaStream_t stream) {
  const Shape s(a.samples, a.pixels, a.channels);
  moments_kernel<__nv_bfloat16><<<s.grid, s.threads, s.bytes, stream>>>(a, a.workspace);
  check(cudaGetLastError(), "norm");
  return s.parts;
}

void stream_forward(const NormForwardArgs& a, cudaStream_t stream) {
  using B = __nv_bfloat16;
  const Shape s(a.samples, a.pixels, a.channels);
  stream_moments(a, stream);
  apply_kernel<B><<<s.grid, s.threads, s.bytes, stream>>>(a, a.workspace, s.parts);
  check(cudaGetLastError(), "norm");
}

void stream_backward(const NormBackwardArgs& a, cudaStream_t stream) {
  using B = __nv_bfloat16;
  const Shape s(a.samples, a.pixels, a.channels);
  float* input =
      a.column_input >= 0 ? a.workspace + static_cast<int64_t>(2) * s.parts * a.samples * a.channels : nullptr;
  backward_sums_kernel<B><<<s.grid, s.threads, s.bytes, stream>>>(a, a.workspace);
  backward_apply_kernel<B><<<s.grid, s.threads, s.bytes, stream>>>(a, a.workspace, s.parts, input);
  if (input)
    input_sums_kernel<<<dim3(1, static_cast<unsigned>(a.samples)), 128, static_cast<size_t>(a.channels) * sizeof(float),
                        stream>>>(a, input, s.parts);
  check(cudaGetLastError(), "norm");
}

}  // namespace htfm::cuda
