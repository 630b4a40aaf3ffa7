// The filter of NCSN++ that changes the size of images. One thread makes eight channels of one pixel; neighbours find
// what they share in the cache.
#include "htfm/net/image_kernels_cuda.h"
#include "htfm/net/vector_cuda.h"

namespace htfm::cuda {
namespace {

template <class T, bool Up>
__global__ void fir_kernel(FirArgs a, unsigned vectors) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const unsigned per_pixel = static_cast<unsigned>(a.channels) / 8, channel = i % per_pixel * 8, place = i / per_pixel,
                 height = static_cast<unsigned>(Up ? 2 * a.height : a.height / 2),
                 width = static_cast<unsigned>(Up ? 2 * a.width : a.width / 2), n = place / (height * width),
                 p = place % (height * width);
  const int row = static_cast<int>(p / width), column = static_cast<int>(p % width);
  const T* from = static_cast<const T*>(a.x.data) + static_cast<int64_t>(n) * a.x.sample + channel;
  float sum[8] = {};
  constexpr int kTaps = Up ? 2 : 4;
#pragma unroll
  for (int r = 0; r < kTaps; ++r) {
    // Twice the size: a pixel lies over one of the image, and a quarter of it over the neighbour on its side.
    const int y = Up ? row / 2 + r * (row % 2 == 0 ? -1 : 1) : 2 * row + r - 1;
    if (y < 0 || y >= a.height) continue;
#pragma unroll
    for (int c = 0; c < kTaps; ++c) {
      const int x = Up ? column / 2 + c * (column % 2 == 0 ? -1 : 1) : 2 * column + c - 1;
      if (x < 0 || x >= a.width) continue;
      const auto tap = [](int k) { return Up ? (k == 0 ? 0.75f : 0.25f) : (k == 0 || k == 3 ? 0.125f : 0.375f); };
      const float weight = a.gain * tap(r) * tap(c);
      float value[8];
      unpack(load_vector(from + static_cast<int64_t>(y * a.width + x) * a.x.pixel), value);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] += weight * value[j];
    }
  }
  store_vector(static_cast<T*>(a.out) + static_cast<int64_t>(place) * a.channels + channel, pack<T>(sum));
}

}  // namespace

void fir(const FirArgs& a, cudaStream_t stream) {
  const int64_t pixels = a.up ? int64_t{4} * a.height * a.width : int64_t{a.height / 2} * (a.width / 2);
  const unsigned vectors = thread_count(a.samples * pixels * (a.channels / 8), "fir");
  constexpr unsigned threads = 256;
  const unsigned blocks = (vectors + threads - 1) / threads;
  using B = __nv_bfloat16;
  const auto kernel = a.type == Type::float32 ? (a.up ? fir_kernel<float, true> : fir_kernel<float, false>)
                                              : (a.up ? fir_kernel<B, true> : fir_kernel<B, false>);
  kernel<<<blocks, threads, 0, stream>>>(a, vectors);
  check(cudaGetLastError(), "fir");
}

}  // namespace htfm::cuda
