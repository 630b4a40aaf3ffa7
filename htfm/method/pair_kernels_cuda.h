// Launchers of the kernels behind htfm/method/pair_device.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace htfm::cuda {

/// What the host says of one pair: PairCoefficients, and how long x_0 is.
struct MatchRow {
  double time, data_in, source_in, data_target, source_target;
  double scale;  ///< x_0 = scale z; with `radial`, before the kernel has seen z, |x_0|
};

template <class T>
struct MatchArgs {
  int64_t rows = 0, dim = 0;
  MatchRow* row = nullptr;
  const T* data = nullptr;
  const double* points = nullptr;  ///< x_0 where the host has it; null: drawn from the key
  uint64_t key = 0;
  bool radial = false;
  double bound = 0;  ///< of each element of a drawn x_0
  T *time = nullptr, *x = nullptr, *target = nullptr;
};
void match(const MatchArgs<float>& args, cudaStream_t stream);
void match(const MatchArgs<double>& args, cudaStream_t stream);

/// out[row] = |x - centre|, summed coordinate by coordinate as the host does.
void distances(const float* x, const double* centre, int64_t rows, int64_t dim, double* out, cudaStream_t stream);

}  // namespace htfm::cuda
