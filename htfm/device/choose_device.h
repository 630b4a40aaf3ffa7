// Which device serves a network.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "htfm/base/api.h"
#include "htfm/comm/communicator.h"

namespace htfm HTFM_PUBLIC {

/// The device for a network of this kind (net.kind). `asked` is cpu, cuda or auto; auto: the CPU for an mlp, for other
/// networks a CUDA device where there is one. InputError where cuda is asked for and missing, or for another name.
at::Device choose_device(const std::string& asked, const std::string& network_kind);

/// The device of this process where several work together: each has its own. InputError that names two processes with
/// one device, unless it may be `shared`. All processes call it.
at::Device local_device(Communicator& processes, bool shared);

}  // namespace htfm
