// The gradient of a batch as the sum of its parts, in their order: the same bits for any number of threads.
#pragma once

#include "htfm/net/network.h"

namespace htfm {

/// Computes the parts of a network's gradient side by side and adds each when its turn has come, so that no more of
/// them are in memory than there are threads. Returns the loss.
double gradient_in_parts(const Network& network, const float* parameters, const NetworkInput& input,
                         const SampleLoss& loss, float* gradient);

}  // namespace htfm
