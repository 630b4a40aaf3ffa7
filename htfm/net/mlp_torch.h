// The residual MLP by torch's operations: for devices that the tiles of mlp_runner.h are not for.
#pragma once

#include "htfm/net/mlp_runner.h"

namespace htfm {

/// Output n x dim for a batch; parameters (flat) and input are float32 on one device.
at::Tensor mlp_by_torch(const MlpLayers& layers, const at::Tensor& parameters, const NetworkInput& input);

}  // namespace htfm
