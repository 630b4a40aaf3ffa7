// The way back through group norm + scale/shift + SiLU: the gradient of its input and the sums that become those of its
// parameters, with the tiles of the way forward.
#include <stdexcept>

#include "htfm/net/norm_block_cuda.h"
#include "htfm/net/norm_stream_cuda.h"
#include "htfm/net/norm_tiling_cuda.h"

namespace htfm::cuda {
namespace {

// With z = A x + B the gradient of the input is A dz + C x + D, channel by channel.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads, Threads <= 256 ? 2 : 1) backward_kernel(NormBackwardArgs a, int chunk) {
  extern __shared__ float shared[];
  constexpr int kept = V > 0 ? V : 1;
  const int vectors = chunk / 8, v = static_cast<int>(threadIdx.x) % vectors,
            row = static_cast<int>(threadIdx.x) / vectors, rows = static_cast<int>(blockDim.x) / vectors;
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
      if (p < a.pixels)
        kept_x[i] = load_vector(x + p * a.x.pixel), kept_dy[i] = load_vector(dy + static_cast<int64_t>(p) * a.channels);
    }
  }
  activation_coefficients(a, n, first_channel, chunk, coefficient);
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
  const auto gradient_of_z = [&](float z, float d) { return a.silu ? silu_gradient<T>(z, d) : d; };
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
  input_coefficients(a, n, first_channel, chunk, true, total, coefficient);
  float C[8], D[8], input[1][8] = {};
  load_floats(coefficient + v * 8, C);
  load_floats(coefficient + chunk + v * 8, D);
  const T* add0 = a.add[0].data ? static_cast<const T*>(a.add[0].data) + n * a.add[0].sample + channel : nullptr;
  const T* add1 = a.add[1].data ? static_cast<const T*>(a.add[1].data) + n * a.add[1].sample + channel : nullptr;
  const bool in_first = channel < a.split;
  const float out_scale = in_first ? a.scale : 1.0f;
  const int64_t out_channels = in_first ? a.split : a.channels - a.split;
  T* out = (in_first ? static_cast<T*>(a.first) + channel : static_cast<T*>(a.second) + (channel - a.split)) +
           n * a.pixels * out_channels;
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
  for (int i = static_cast<int>(threadIdx.x); i < chunk && first_channel + i < a.split;
       i += static_cast<int>(blockDim.x))
    a.sums[n * a.width + a.column_input + first_channel + i] = total[i];
}

template <class Kernel>
void launch_backward(Kernel kernel, const NormBackwardArgs& a, const Tiling& t, cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(t.shared_floats) * sizeof(float);
  if (!allow_shared(kernel, bytes)) throw std::runtime_error("[cuda] norm: the device is too small");
  kernel<<<dim3(static_cast<unsigned>(a.channels / t.chunk), static_cast<unsigned>(a.samples)),
           static_cast<unsigned>(t.threads), bytes, stream>>>(a, t.chunk);
  check(cudaGetLastError(), "norm");
}

}  // namespace

void norm_backward(const NormBackwardArgs& a, cudaStream_t stream) {
  if (takes_turns(a.type, a.pixels, a.channels)) return turns_backward(a, stream);
  if (streams(a.type, a.pixels, a.channels)) return stream_backward(a, stream);
  const Tiling t = tile_alone(a.pixels, a.channels, a.groups);
  if (a.type == Type::float32) return launch_backward(backward_kernel<float, 0, kNormThreads>, a, t, stream);
  using B = __nv_bfloat16;
  if (t.threads > 256 && t.per_thread <= 8) return launch_backward(backward_kernel<B, 8, kNormThreads>, a, t, stream);
  if (t.per_thread <= 1) return launch_backward(backward_kernel<B, 1, kSmallThreads>, a, t, stream);
  if (t.per_thread <= 2) return launch_backward(backward_kernel<B, 2, kSmallThreads>, a, t, stream);
  if (t.per_thread <= 4) return launch_backward(backward_kernel<B, 4, kSmallThreads>, a, t, stream);
  if (t.per_thread <= 8) return launch_backward(backward_kernel<B, 8, kSmallThreads>, a, t, stream);
  launch_backward(backward_kernel<B, 0, kNormThreads>, a, t, stream);
}

}  // namespace htfm::cuda
