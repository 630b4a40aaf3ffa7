// Clocks and sources on a CUDA device. The kernels live in a library of their own, loaded when a device is first asked
// for, so that the program starts fast and runs where there is no CUDA.
#pragma once

#include <cstdint>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// A clock's law as plain data for a kernel. Its numbers are those of the CPU: the same key gives the same clocks up to
/// rounding.
struct DeviceClockLaw {
  enum class Kind : int32_t { deterministic, stable, inverse_gamma };
  Kind kind = Kind::deterministic;
  int32_t grid = 1;
  double shape = 0;                ///< rho, or nu/2
  double log_scale = 0;            ///< of an increment
  const double* weight = nullptr;  ///< host, grid values: area weights of the increments (stable)
};

/// What the CUDA library offers; pointers are device memory except where said, and the work is done in the order of the
/// stream that torch uses on the current device.
struct ClockBackend {
  /// Fills area[n], end[n] and, when not null, paths[n x (grid+1)].
  void (*sample)(uint64_t key, const DeviceClockLaw& law, int64_t first, int64_t n, double* area, double* end,
                 double* paths);
  /// x[n x dim] = sqrt(2 area) z, z being elements first * dim .. of the key's normal stream.
  void (*source)(uint64_t key, const double* area, int64_t first, int64_t n, int64_t dim, double* x);
};

/// The backend of this machine; InputError where the CUDA library or a device is missing.
const ClockBackend& cuda_clock_backend();

}  // namespace htfm
