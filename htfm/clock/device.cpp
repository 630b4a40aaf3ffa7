#include "htfm/clock/device.h"

#include "htfm/base/cuda_library.h"

namespace htfm {

const ClockBackend& cuda_clock_backend() { return cuda_object<ClockBackend>("htfm_cuda_clock_backend"); }

}  // namespace htfm
