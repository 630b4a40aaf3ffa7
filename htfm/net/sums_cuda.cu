// Sums of images: residuals and biases on the way forward, gradients and their totals over pixels on the way back.
#include <algorithm>
#include <numeric>

#include "htfm/net/image_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {
namespace {

template <class T>
__global__ void add_kernel(AddArgs a, unsigned vectors) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const unsigned per_pixel = static_cast<unsigned>(a.channels) / 8, pixels = static_cast<unsigned>(a.pixels),
                 channel = i % per_pixel * 8;
  const int64_t place = i / per_pixel, n = i / per_pixel / pixels, p = i / per_pixel % pixels;
  float value[8];
  unpack(load_vector(static_cast<const T*>(a.y) + place * a.channels + channel), value);
  for (int k = 0; k < 2; ++k)
    if (a.bias[k]) add_floats(a.bias[k] + channel, value);
  if (a.residual.data) {
    float more[8];
    unpack(load_vector(static_cast<const T*>(a.residual.data) + n * a.residual.sample + p * a.residual.pixel + channel),
           more);
#pragma unroll
    for (int j = 0; j < 8; ++j) value[j] += more[j];
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) value[j] *= a.scale;
  const Vector<T> out = pack<T>(value);
  if (a.copy.data) store_vector(static_cast<T*>(a.copy.data) + n * a.copy.sample + p * a.copy.pixel + channel, out);
  store_vector(static_cast<T*>(a.out) + place * a.channels + channel, out);
}

// A block owns one sample and `chunk` channels; its threads walk down the pixels.
template <class T>
__global__ void gradient_kernel(GradientSumArgs a, int chunk) {
  extern __shared__ float scratch[];
  const int vectors = chunk / 8, v = static_cast<int>(threadIdx.x) % vectors,
            row = static_cast<int>(threadIdx.x) / vectors, rows = static_cast<int>(blockDim.x) / vectors;
  const int64_t n = blockIdx.y;
  const int first = static_cast<int>(blockIdx.x) * chunk, channel = first + v * 8;
  const int part_size = a.parts[1] ? a.channels / 3 : a.channels, part = channel / part_size;
  const void* source = part == 0 ? a.parts[0] : part == 1 ? a.parts[1] : a.parts[2];
  const T* from = static_cast<const T*>(source) + (channel - part * part_size);
  float sum[8] = {};
  for (int p = row; p < a.pixels; p += rows) {
    float value[8];
    unpack(load_vector(from + (n * a.pixels + p) * part_size), value);
    const int64_t place = (n * a.pixels + p) * a.channels + channel;
    if (a.b) {
      float more[8];
      unpack(load_vector(static_cast<const T*>(a.b) + place), more);
#pragma unroll
      for (int j = 0; j < 8; ++j) value[j] += more[j];
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) value[j] *= a.scale, sum[j] += value[j];
    if (a.out) store_vector(static_cast<T*>(a.out) + place, pack<T>(value));
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) scratch[row * chunk + v * 8 + j] = sum[j];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += static_cast<int>(blockDim.x)) {
    float total = 0;
    for (int r = 0; r < rows; ++r) total += scratch[r * chunk + i];
    a.sums[n * a.row + a.column + first + i] = total;
  }
}

}  // namespace

void add_up(const AddArgs& a, cudaStream_t stream) {
  const unsigned vectors = thread_count(static_cast<int64_t>(a.samples) * a.pixels * (a.channels / 8), "sum");
  constexpr unsigned threads = 256;
  const unsigned blocks = (vectors + threads - 1) / threads;
  if (a.type == Type::float32)
    add_kernel<float><<<blocks, threads, 0, stream>>>(a, vectors);
  else
    add_kernel<__nv_bfloat16><<<blocks, threads, 0, stream>>>(a, vectors);
  check(cudaGetLastError(), "sum");
}

void gradient_sums(const GradientSumArgs& a, cudaStream_t stream) {
  // Of large images more and larger blocks: there are few samples for the many pixels that each block walks down.
  const bool large = a.pixels >= 4096;
  int chunk = 8;
  for (int c = 8; c <= std::min(a.channels, large ? 16 : 64); c += 8)
    if (a.channels % c == 0 && (!a.parts[1] || (a.channels / 3) % c == 0)) chunk = c;
  const int threads = std::max(chunk / 8, (large ? 512 : 256) / (chunk / 8) * (chunk / 8));
  const dim3 blocks(static_cast<unsigned>(a.channels / chunk), static_cast<unsigned>(a.samples));
  const auto bytes = static_cast<size_t>(threads) * 8 * sizeof(float);
  if (a.type == Type::float32)
    gradient_kernel<float><<<blocks, static_cast<unsigned>(threads), bytes, stream>>>(a, chunk);
  else
    gradient_kernel<__nv_bfloat16><<<blocks, static_cast<unsigned>(threads), bytes, stream>>>(a, chunk);
  check(cudaGetLastError(), "sums");
}

}  // namespace htfm::cuda
