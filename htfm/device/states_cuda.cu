// States of samples on a device, between channels-first float64 rows and the network's pixels.
#include "htfm/base/random_cuda.h"
#include "htfm/device/step_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int kThreads = 256;

unsigned blocks_for(int64_t items) { return static_cast<unsigned>((items + kThreads - 1) / kThreads); }

__global__ void combine_kernel(CombineArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= a.rows * a.dim) return;
  const int64_t row = i / a.dim;
  double sum = 0;
#pragma unroll
  for (int k = 0; k < kTerms; ++k)
    if (k < a.terms) sum += a.factor[k * a.rows + row] * a.in[k][i];
  a.out[i] = sum;
}

__global__ void normal_kernel(NormalArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < a.count) a.x[i] = normal_draw(a.key, a.first + static_cast<uint64_t>(i));
}

__device__ void put(float* p, float v) { *p = v; }
__device__ void put(__nv_bfloat16* p, float v) { *p = __float2bfloat16(v); }

template <class T>
__global__ void input_kernel(NetworkEndArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<int64_t>(a.rows) * a.pixels) return;
  const int64_t n = i / a.pixels, p = i % a.pixels;
  const double* c = a.coefficient + n * 4;
  if (p == 0) a.time[n] = static_cast<float>(c[1]);
  T* out = static_cast<T*>(a.input) + i * a.padded;
  for (int k = 0; k < a.padded; ++k)
    put(out + k, k < a.channels ? static_cast<float>(c[0] * a.state[(n * a.channels + k) * a.pixels + p]) : 0.0f);
}

__global__ void output_kernel(NetworkEndArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                dim = static_cast<int64_t>(a.channels) * a.pixels;
  if (i >= a.rows * dim) return;
  const int64_t n = i / dim, k = i % dim / a.pixels, p = i % a.pixels;
  const double* c = a.coefficient + n * 4;
  a.velocity[i] = c[2] * a.state[i] + c[3] * static_cast<double>(a.output[(n * a.pixels + p) * a.channels + k]);
}

}  // namespace

void combine(const CombineArgs& a, cudaStream_t stream) {
  combine_kernel<<<blocks_for(a.rows * a.dim), kThreads, 0, stream>>>(a);
  check(cudaGetLastError(), "states");
}

void normal(const NormalArgs& a, cudaStream_t stream) {
  normal_kernel<<<blocks_for(a.count), kThreads, 0, stream>>>(a);
  check(cudaGetLastError(), "noise");
}

void network_input(const NetworkEndArgs& a, cudaStream_t stream) {
  const unsigned blocks = blocks_for(static_cast<int64_t>(a.rows) * a.pixels);
  if (a.type == Type::float32)
    input_kernel<float><<<blocks, kThreads, 0, stream>>>(a);
  else
    input_kernel<__nv_bfloat16><<<blocks, kThreads, 0, stream>>>(a);
  check(cudaGetLastError(), "network input");
}

void network_output(const NetworkEndArgs& a, cudaStream_t stream) {
  output_kernel<<<blocks_for(static_cast<int64_t>(a.rows) * a.channels * a.pixels), kThreads, 0, stream>>>(a);
  check(cudaGetLastError(), "network output");
}

}  // namespace htfm::cuda
