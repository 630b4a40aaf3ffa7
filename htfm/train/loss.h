// The losses of the methods on a batch of training pairs.
#pragma once

#include "htfm/comm/communicator.h"
#include "htfm/method/method.h"
#include "htfm/net/network.h"

namespace htfm {

/// The loss of a network's outputs.
double batch_loss(const LossSpec& spec, const at::Tensor& output, const at::Tensor& target);
/// The loss of a network on a batch, and its gradient (overwritten). `errors`, where not empty, gets the mean squared
/// error of each row. `processes`: those that compute it together (htfm/train/shared_gradient.h); null: this one alone.
double batch_gradient(const LossSpec& spec, const Network& network, const float* parameters, const TrainingPairs& pairs,
                      float* gradient, std::span<double> errors = {}, Communicator* processes = nullptr);

}  // namespace htfm
