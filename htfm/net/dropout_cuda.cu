// Dropout on a CUDA device, in place; a thread takes eight values.
#include "htfm/base/random_cuda.h"
#include "htfm/net/image_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {
namespace {

template <class T>
__global__ void dropout_kernel(DropoutArgs a, unsigned vectors) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const unsigned per_sample = static_cast<unsigned>(a.values / 8), n = i / per_sample;
  const Words random = philox(static_cast<uint64_t>(a.keys[n]), i % per_sample, static_cast<uint64_t>(a.place));
  T* at = static_cast<T*>(a.x) + static_cast<int64_t>(i) * 8;
  float value[8];
  unpack(load_vector(at), value);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const uint32_t bits = random.w[j / 2] >> (j % 2 * 16) & 0xffffu;
    value[j] = bits < a.threshold ? 0.0f : value[j] * a.scale;
  }
  store_vector(at, pack<T>(value));
}

}  // namespace

void dropout(const DropoutArgs& a, cudaStream_t stream) {
  const unsigned vectors = thread_count(a.samples * (a.values / 8), "dropout");
  constexpr unsigned threads = 256;
  const auto kernel = a.type == Type::float32 ? dropout_kernel<float> : dropout_kernel<__nv_bfloat16>;
  kernel<<<(vectors + threads - 1) / threads, threads, 0, stream>>>(a, vectors);
  check(cudaGetLastError(), "dropout");
}

}  // namespace htfm::cuda
