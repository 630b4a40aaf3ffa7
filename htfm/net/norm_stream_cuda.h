// Norms of images that are too large for the registers of a block.
#pragma once

#include "htfm/net/image_kernels_cuda.h"

namespace htfm::cuda {

/// Whether such images are done in two passes.
bool streams(Type type, int pixels, int channels);
/// With `workspace` of the arguments set.
/// The first of the two passes: sums of values and squares, added up and stored where the input is a sum. Returns how
/// many blocks share a sample.
int stream_moments(const NormForwardArgs& args, cudaStream_t stream);
void stream_forward(const NormForwardArgs& args, cudaStream_t stream);
void stream_backward(const NormBackwardArgs& args, cudaStream_t stream);

/// Whether such images are done in one kernel whose blocks take turns.
bool takes_turns(Type type, int pixels, int channels);
int64_t turns_workspace(int samples, int pixels, int channels);
void turns_forward(const NormForwardArgs& args, cudaStream_t stream);
void turns_backward(const NormBackwardArgs& args, cudaStream_t stream);

}  // namespace htfm::cuda
