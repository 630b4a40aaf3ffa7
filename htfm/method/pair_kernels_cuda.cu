// Pairs for a training loop of the caller's. All sums are taken in a fixed order: the same inputs give the same bits.
#include "htfm/base/check_cuda.h"
#include "htfm/base/random_cuda.h"
#include "htfm/method/pair_kernels_cuda.h"

namespace htfm::cuda {
namespace {

constexpr int kThreads = 256, kWarp = 32;

// One block a row: |x_0| becomes the factor of z.
__global__ void scale_kernel(MatchRow* rows, uint64_t key, int64_t dim) {
  const auto row = static_cast<int64_t>(blockIdx.x);
  double sum = 0;
  for (int64_t k = threadIdx.x; k < dim; k += blockDim.x) {
    const double z = normal_draw(key, static_cast<uint64_t>(row * dim + k));
    sum += z * z;
  }
  __shared__ double part[kThreads / kWarp];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % kWarp == 0) part[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double total = 0;
  for (int k = 0; k < kThreads / kWarp; ++k) total += part[k];
  rows[row].scale /= sqrt(total);
}

// One thread an element.
template <class T>
__global__ void match_kernel(MatchArgs<T> a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= a.rows * a.dim) return;
  const int64_t n = i / a.dim;
  const MatchRow row = a.row[n];
  double x0;
  if (a.points) {
    x0 = a.points[i];
  } else {
    x0 = fmin(fmax(row.scale * normal_draw(a.key, static_cast<uint64_t>(i)), -a.bound), a.bound);
  }
  const auto x1 = static_cast<double>(a.data[i]);
  a.x[i] = static_cast<T>(row.data_in * x1 + row.source_in * x0);
  a.target[i] = static_cast<T>(row.data_target * x1 + row.source_target * x0);
  if (i == n * a.dim) a.time[n] = static_cast<T>(row.time);
}

// One block a row. Squares are made by all threads, and added in the order of the coordinates by one: each addition is
// rounded as the host rounds it, so that a row of the training set has its own place among the sizes.
__global__ void distance_kernel(const float* x, const double* centre, int64_t dim, double* out) {
  __shared__ double square[kThreads];
  const float* row = x + static_cast<int64_t>(blockIdx.x) * dim;
  double sum = 0;
  for (int64_t base = 0; base < dim; base += kThreads) {
    const int64_t k = base + threadIdx.x;
    if (k < dim) {
      const double d = __dsub_rn(static_cast<double>(row[k]), centre[k]);
      square[threadIdx.x] = __dmul_rn(d, d);
    }
    __syncthreads();
    const int count = static_cast<int>(dim - base < kThreads ? dim - base : kThreads);
    if (threadIdx.x == 0)
      for (int j = 0; j < count; ++j) sum = __dadd_rn(sum, square[j]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = __dsqrt_rn(sum);
}

template <class T>
void match_all(const MatchArgs<T>& a, cudaStream_t stream) {
  if (a.rows * a.dim == 0) return;
  if (a.radial) scale_kernel<<<static_cast<unsigned>(a.rows), kThreads, 0, stream>>>(a.row, a.key, a.dim);
  match_kernel<T><<<static_cast<unsigned>((a.rows * a.dim + kThreads - 1) / kThreads), kThreads, 0, stream>>>(a);
  check(cudaGetLastError(), "pairs");
}

}  // namespace

void match(const MatchArgs<float>& args, cudaStream_t stream) { match_all(args, stream); }
void match(const MatchArgs<double>& args, cudaStream_t stream) { match_all(args, stream); }

void distances(const float* x, const double* centre, int64_t rows, int64_t dim, double* out, cudaStream_t stream) {
  if (rows == 0) return;
  distance_kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(x, centre, dim, out);
  check(cudaGetLastError(), "distances");
}

}  // namespace htfm::cuda
