// Clocks and sources drawn on the device: one warp a clock, the path by a scan over its increments.
#include "htfm/base/api.h"
#include "htfm/base/check_cuda.h"
#include "htfm/base/current_stream_cuda.h"
#include "htfm/base/random_cuda.h"
#include "htfm/clock/device.h"

namespace htfm {
namespace {

using cuda::check, cuda::open_uniform, cuda::philox, cuda::Words;

// Kanter's formula, as in htfm/base/random_kernels.cpp.
__device__ double positive_stable(uint64_t key, uint64_t index, double rho, double log_scale) {
  const Words w = philox(key, index);
  const double v = open_uniform(w.w[0], w.w[1]), e = -log(open_uniform(w.w[2], w.w[3])), u = 1 - v;
  const double a = sinpi(rho * u), b = sinpi(v), c = sinpi((1 - rho) * u), ratio = c / e;
  return exp((log(ratio / b) + rho * log(a / ratio)) / rho + log_scale);
}

// 32 bits where fewer digits do.
__device__ double coarse_uniform(uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

// Marsaglia and Tsang, as in htfm/base/random_kernels.cpp: attempt a of element i uses the words of counter i in stream
// a + 1.
__device__ double log_gamma_draw(uint64_t key, uint64_t index, double shape) {
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3.0, c = 1 / sqrt(9 * d);
  for (uint64_t stream = 1;; ++stream) {
    const Words w = philox(key, index, stream);
    const double s = sinpi(coarse_uniform(w.w[2])), x = sqrt(-2 * log(open_uniform(w.w[0], w.w[1]))) * (1 - 2 * s * s),
                 root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, log_v = 3 * log(root);
    if (0.5 * x * x + d * (1 - v + log_v) - log(coarse_uniform(w.w[3])) <= 0) continue;
    const Words z = philox(key, index);
    return log(d) + log_v + (shape < 1 ? log(open_uniform(z.w[0], z.w[1])) / shape : 0.0);
  }
}

constexpr int kWarp = 32;
constexpr unsigned kAll = 0xffffffffu;

__global__ void sample_kernel(uint64_t key, DeviceClockLaw law, const double* __restrict__ weight, int64_t first,
                              int64_t n, double* area, double* end, double* paths) {
  const int64_t i = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  if (i >= n) return;
  double* path = paths ? paths + i * (law.grid + 1) : nullptr;
  if (law.kind != DeviceClockLaw::Kind::stable) {
    // A straight path: its slope is 1, or the inverse gamma variable.
    double slope = 1;
    if (law.kind == DeviceClockLaw::Kind::inverse_gamma) {
      if (lane == 0) slope = exp(log(law.shape) - log_gamma_draw(key, static_cast<uint64_t>(first + i), law.shape));
      slope = __shfl_sync(kAll, slope, 0);
    }
    for (int j = lane; path && j <= law.grid; j += kWarp) path[j] = slope * j / law.grid;
    if (lane == 0) end[i] = slope, area[i] = slope / 2;
    return;
  }
  double total = 0, weighted = 0;
  if (path && lane == 0) path[0] = 0;
  for (int base = 0; base < law.grid; base += kWarp) {
    const int j = base + lane;
    const double step =
        j < law.grid ? positive_stable(key, static_cast<uint64_t>((first + i) * law.grid + j), law.shape, law.log_scale)
                     : 0.0;
    if (j < law.grid) weighted += weight[j] * step;
    double scan = step;
    for (int offset = 1; offset < kWarp; offset *= 2) {
      const double before = __shfl_up_sync(kAll, scan, offset);
      if (lane >= offset) scan += before;
    }
    if (path && j < law.grid) path[j + 1] = total + scan;
    total += __shfl_sync(kAll, scan, kWarp - 1);
  }
  for (int offset = kWarp / 2; offset > 0; offset /= 2) weighted += __shfl_down_sync(kAll, weighted, offset);
  if (lane == 0) end[i] = total, area[i] = weighted;
}

__global__ void source_kernel(uint64_t key, const double* __restrict__ area, int64_t first, int64_t n, int64_t dim,
                              double* x) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n * dim) return;
  const auto element = static_cast<uint64_t>(first * dim + i);
  x[i] = sqrt(2 * area[i / dim]) * cuda::normal_draw(key, element);
}

void sample(uint64_t key, const DeviceClockLaw& law, int64_t first, int64_t n, double* area, double* end,
            double* paths) {
  if (n == 0) return;
  const cudaStream_t stream = cuda::current_stream();
  double* weight = nullptr;
  if (law.weight) {
    const size_t bytes = sizeof(double) * static_cast<size_t>(law.grid);
    check(cudaMallocAsync(reinterpret_cast<void**>(&weight), bytes, stream), "weights");
    check(cudaMemcpyAsync(weight, law.weight, bytes, cudaMemcpyHostToDevice, stream), "weights");
  }
  constexpr int threads = 128;
  sample_kernel<<<static_cast<unsigned>((n * kWarp + threads - 1) / threads), threads, 0, stream>>>(
      key, law, weight, first, n, area, end, paths);
  check(cudaGetLastError(), "clock kernel");
  if (weight) check(cudaFreeAsync(weight, stream), "weights");
}

void source(uint64_t key, const double* area, int64_t first, int64_t n, int64_t dim, double* x) {
  if (n * dim == 0) return;
  constexpr int threads = 256;
  source_kernel<<<static_cast<unsigned>((n * dim + threads - 1) / threads), threads, 0, cuda::current_stream()>>>(
      key, area, first, n, dim, x);
  check(cudaGetLastError(), "source kernel");
}

}  // namespace
}  // namespace htfm

extern "C" HTFM_PUBLIC const htfm::ClockBackend* htfm_cuda_clock_backend(const char** reason) {
  static const htfm::ClockBackend backend{&htfm::sample, &htfm::source};
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    *reason = status == cudaSuccess ? "none found" : cudaGetErrorString(status);
    return nullptr;
  }
  return &backend;
}
