#include "htfm/base/current_stream_cuda.h"

#include <ATen/cuda/CUDAContext.h>

namespace htfm::cuda {

cudaStream_t current_stream() { return at::cuda::getCurrentCUDAStream(); }

}  // namespace htfm::cuda
