// The gradient of a batch that several processes compute together: each takes some of its parts, and the parts are
// added in their order, so that the bits do not depend on how many processes there are.
#pragma once

#include "htfm/comm/communicator.h"
#include "htfm/net/network.h"

namespace htfm {

/// The rows of a batch whose parts are this process's.
Share own_rows(const Network& network, int64_t rows, const Communicator& processes);

/// Network::gradient of all processes together; only the rows of own_rows() are looked at.
double shared_gradient(Communicator& processes, const Network& network, const float* parameters,
                       const NetworkInput& input, const SampleLoss& loss, float* gradient);

/// Values of the rows, of which each process has those of own_rows(): all get the whole.
void share_row_values(Communicator& processes, const Network& network, std::span<double> values);

}  // namespace htfm
