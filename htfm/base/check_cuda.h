// The check of CUDA calls.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace htfm::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string("[cuda] ") + what + ": " + cudaGetErrorString(status));
}

}  // namespace htfm::cuda
