// The stream that torch uses on the current device at the time: work of ours comes in the order of the caller's.
#pragma once

#include <cuda_runtime_api.h>

namespace htfm::cuda {

cudaStream_t current_stream();

}  // namespace htfm::cuda
